// gyre inspect receptive-field: how far back causal language models look, by position encoding.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "core/random.h"
#include "data/document_store.h"
#include "tools/cpu_threads.h"
#include "tools/device_choice.h"
#include "tools/plots/lines.h"
#include "tools/program.h"
#include "train/extrapolation.h"
#include "train/log/progress.h"
#include "train/receptive_field.h"
#include "train/trained_model.h"

namespace gyre {

namespace {

using Json = nlohmann::ordered_json;

struct InspectReceptiveField {
  std::vector<std::string> positions;
  std::vector<Path> models, inputs;
  std::string checkpoint;
  EncoderOnlyConfig fresh = EncoderOnlyConfig::preset("lm-tiny");
  int length = 0, samples = 8;
  uint64_t seed = 1;
  Path output = "receptive-field.svg", data;
  DeviceChoice device;
  CpuThreads threads;
  bool json = false;
  OptionTable* table = nullptr;
};

// A line of the picture: what was measured of a model.
struct Field {
  std::string name, position;
  int trained_length = 0;          // 0: random weights
  std::vector<double> cumulative;  // by distance, the mean over the samples

  double beyond_training() const {  // share of the tokens that are further away than any in training
    if (trained_length == 0 || size_t(trained_length) >= cumulative.size()) return 0;
    return 1 - cumulative[size_t(trained_length) - 1];
  }
};

// The length that was asked for: four times the longest one of training, so that one sees what lies beyond it.
int text_length(const InspectReceptiveField& call) {
  if (call.length > 0) return call.length;
  int longest = 0;
  for (const Path& model : call.models) longest = std::max(longest, trained_length(model, call.checkpoint));
  return longest > 0 ? 4 * longest : 1024;
}

EncoderOnlyConfig fresh_config(const InspectReceptiveField& call, const std::string& position) {
  EncoderOnlyConfig config = call.fresh;
  config.position.encoding = position;
  config.position.max_positions = text_length(call);
  config.vocab_size = 1000;
  as_usage_error([&] { config.validate(); });
  return config;
}

void check(const InspectReceptiveField& call) {
  if (call.positions.empty() && call.models.empty())
    throw UsageError("--position, --model: expected encodings of fresh models or trained runs, got none");
  if (call.length < 0) throw UsageError("--length: expected a number from 0 up, got ", call.length);
  if (call.samples < 1) throw UsageError("--samples: expected at least 1, got ", call.samples);
  call.table->reject_idle("checkpoint", !call.models.empty(), "there is no --model");
  call.table->reject_idle("input", !call.models.empty(), "there is no --model: fresh ones have no vocabulary");
  if (call.positions.empty()) call.table->reject_group("Fresh models", "there is no --position");
}

std::vector<int32_t> random_ids(const InspectReceptiveField& call, int sample, int64_t length, int64_t vocabulary) {
  RandomStream random(call.seed, mix(hash_name("receptive field"), uint64_t(sample)));
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < length; ++i) ids.push_back(int32_t(random.below(uint64_t(vocabulary))));
  return ids;
}

// <s> and a piece of the text, the pieces evenly spread over it.
std::vector<int32_t> piece_of(const std::vector<int32_t>& tokens, int32_t bos, int sample, int samples,
                              int64_t length) {
  const int64_t count = length - 1, room = int64_t(tokens.size()) - count;
  require(room >= 0, "[receptive field] expected at least ", count, " tokens of text, one less than --length, got ",
          tokens.size());
  const auto begin = tokens.begin() + (samples == 1 ? 0 : room * sample / (samples - 1));
  std::vector<int32_t> ids{bos};
  ids.insert(ids.end(), begin, begin + count);
  return ids;
}

// Shows how far the work is.
class Work {
 public:
  Work(const InspectReceptiveField& call)
      : call_(call), line_(int64_t(call.positions.size() + call.models.size()) * call.samples) {}

  // The mean over texts(sample); begin(sample) comes before each.
  template <class Begin, class Text>
  void measure(Field& field, const EncoderOnly& model, const Begin& begin, const Text& text) {
    std::vector<double> sum;
    for (int sample = 0; sample < call_.samples; ++sample) {
      begin(sample);
      const std::vector<double> shares = gradient_shares(model, call_.device.kernels(), text(sample));
      sum.resize(shares.size());
      for (size_t t = 0; t < shares.size(); ++t) sum[t] += shares[t] / call_.samples;
      line_.show(++done_, field.name);
    }
    field.cumulative = cumulative_shares(sum);
  }

 private:
  const InspectReceptiveField& call_;
  ProgressLine line_;
  int64_t done_ = 0;
};

// Each sample draws the weights anew.
Field measure_fresh(const InspectReceptiveField& call, const std::string& position, Work& work) {
  EncoderOnly model(fresh_config(call, position));
  Field field{position + ", random weights", position, 0, {}};
  work.measure(
      field, model,
      [&](int sample) {
        model.parameters().allocate(call.seed + uint64_t(sample), DType::f32, call.device.kernels().device());
      },
      [&](int sample) { return random_ids(call, sample, text_length(call), model.config().vocab_size); });
  return field;
}

Field measure_trained(const InspectReceptiveField& call, const Path& run, Work& work) {
  const auto model = load_model<EncoderOnly>(run, call.checkpoint, call.device.kernels().device());
  const EncoderOnlyConfig& config = model->config();
  require(config.causal, "[receptive field] ", run.string(),
          ": expected a causal language model, got one that sees both "
          "sides");
  const int64_t length = std::min<int64_t>(text_length(call), model->longest());
  std::vector<int32_t> tokens;
  int32_t bos = 0;
  if (!call.inputs.empty()) {
    const auto vocabulary = load_run_vocabulary(find_run(run), {}, config.vocab_size);
    const Documents documents =
        open_documents(*vocabulary, call.inputs, DocumentEnd::blank_line, parse_on_bad_line("default"));
    tokens = join_documents(documents.store, UINT64_MAX);
    bos = documents.store.bos();
  }
  Field field{run.string(), config.position.encoding, trained_length(run, call.checkpoint), {}};
  work.measure(
      field, *model, [](int) {},
      [&](int sample) {
        return tokens.empty() ? random_ids(call, sample, length, config.vocab_size)
                              : piece_of(tokens, bos, sample, call.samples, length);
      });
  return field;
}

// Distances grow by a few percent at least: as fine as a picture can show.
PlotLine line_of(const Field& field) {
  PlotLine line{field.name, {}, {}};
  for (size_t t = 0; t < field.cumulative.size(); t = std::max(t + 1, size_t(double(t) * 1.03))) {
    line.x.push_back(double(t + 1));
    line.y.push_back(field.cumulative[t]);
  }
  line.x.push_back(double(field.cumulative.size()));
  line.y.push_back(field.cumulative.back());
  return line;
}

void draw(const std::vector<Field>& fields, const Path& output) {
  LinesPlot plot;
  plot.title = "receptive field: cumulative normalized gradient";
  plot.x_label = "tokens back, the last one included";
  plot.y_label = "share of the gradient of what comes after the last one";
  plot.shares = plot.powers_of_two = true;
  size_t longest = 0;
  std::set<int> trained_lengths;
  for (const Field& field : fields) {
    plot.lines.push_back(line_of(field));
    longest = std::max(longest, field.cumulative.size());
    trained_lengths.insert(field.trained_length);
  }
  for (const int trained : trained_lengths) {
    if (trained > 0 && size_t(trained) <= longest)
      plot.marks.push_back({double(trained), concat("trained length ", trained)});
  }
  draw_lines(plot, output);
}

constexpr double kHeld[] = {0.5, 0.9, 0.99};

Json facts_of(const InspectReceptiveField& call, const std::vector<Field>& fields) {
  Json facts{{"length", text_length(call)}, {"samples", call.samples}, {"models", Json::array()}};
  for (const Field& field : fields) {
    Json one{{"name", field.name}, {"position", field.position}, {"length", field.cumulative.size()}};
    one["trained_length"] = field.trained_length > 0 ? Json(field.trained_length) : nullptr;
    one["last_token"] = field.cumulative.front();
    for (const double share : kHeld)
      one[fmt::format("distance_{:g}", 100 * share)] = distance_holding(share, field.cumulative);
    one["beyond_training"] = field.trained_length > 0 ? Json(field.beyond_training()) : nullptr;
    facts["models"].push_back(std::move(one));
  }
  return facts;
}

void print_table(const std::vector<Field>& fields) {
  fmt::print(
      "distance of the tokens that hold a share of the gradient; share of the last token itself, and of those "
      "beyond the trained length\n{:<32} {:>7} {:>7} {:>7} {:>7} {:>10} {:>7}\n",
      "model", "length", "50 %", "90 %", "99 %", "last token", "beyond");
  for (const Field& field : fields) {
    fmt::print("{:<32} {:>7}", field.name, field.cumulative.size());
    for (const double share : kHeld) fmt::print(" {:>7}", distance_holding(share, field.cumulative));
    fmt::print(" {:>8.1f} %", 100 * field.cumulative.front());
    fmt::print("{}\n", field.trained_length > 0 ? fmt::format(" {:>5.1f} %", 100 * field.beyond_training()) : "");
  }
}

void write_data(const std::vector<Field>& fields, const Path& file) {
  Json curves = Json::array();
  for (const Field& field : fields)
    curves.push_back({{"name", field.name}, {"position", field.position}, {"cumulative", field.cumulative}});
  write_file(file, Json{{"curves", curves}}.dump() + "\n");
}

int inspect(const InspectReceptiveField& call) {
  check(call);
  call.threads.use();
  std::vector<Field> fields;
  {
    Work work(call);
    for (const std::string& position : call.positions) fields.push_back(measure_fresh(call, position, work));
    for (const Path& run : call.models) fields.push_back(measure_trained(call, run, work));
  }
  if (!call.data.empty()) write_data(fields, call.data);
  draw(fields, call.output);
  if (call.json) {
    std::cout << facts_of(call, fields).dump() << '\n';
  } else {
    print_table(fields);
  }
  return 0;
}

void add_position_row(OptionTable& table, InspectReceptiveField& call) {
  table.add_custom(
      "--position", 1, OptionTable::kAnyNumber, "WORD,...", "encodings of fresh models, a line each",
      [&call](const std::vector<std::string>& values) {
        call.positions.clear();
        for (const std::string& word : split_list(values))
          call.positions.push_back(OptionTable::chosen_word(word, position_encoding_names()));
      },
      [&call] { return toml_value(call.positions); });
}

}  // namespace

void add_inspect_receptive_field_command(Program& program) {
  auto call = std::make_shared<InspectReceptiveField>();
  OptionTable& table = program.command(
      "inspect receptive-field",
      "draw what share of the gradient of a prediction lies within so many tokens back, of causal language models. "
      "Random weights attend evenly, so a fresh model shows what its encoding alone does: a bias over distance (alibi) "
      "is a soft window, and all others are much like none; what rope or a table does is seen in trained models",
      [call] { return inspect(*call); });
  call->table = &table;
  add_position_row(table, *call);
  table.add("--model,-m", call->models, "PATH...", "runs of gyre train lm, a line each; the trained length is marked");
  table.add("--checkpoint", call->checkpoint, "NAME", "within a run: best, last, average or step-...; default best");
  table.add("--input,-i", call->inputs, "FILE...",
            "text that the runs read, or one token store; absent: ids drawn evenly from the vocabulary");
  table.add(
      "--length", call->length, "TOKENS",
      "of a text, or as many as a model has positions for; 0: four times the longest trained length, 1024 without");
  table.add("--samples", call->samples, "TEXTS", "whose mean is drawn, with weights of their own in fresh models");
  table.add("--seed", call->seed, "NUMBER", "of ids and fresh weights");
  table.add("--output,--out,-o", call->output, "FILE", "the picture, .png or .svg");
  table.add("--data", call->data, "FILE", "the curves as JSON, too, by distance");
  call->device.add_row(table);
  call->threads.add_row(table);
  table.add_flag("--json", call->json, "print one JSON object");
  table.group("Fresh models");
  table.add("--dim-emb", call->fresh.dim, "NUMBER", "width of the model");
  table.add("--layers", call->fresh.layers, "LAYERS", "of the stack");
  table.add("--transformer-heads", call->fresh.heads, "HEADS", "of every attention");
  table.add("--transformer-dim-ffn", call->fresh.ffn, "NUMBER", "width inside the feed-forward blocks");
}

}  // namespace gyre
