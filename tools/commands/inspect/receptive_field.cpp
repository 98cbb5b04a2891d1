// gyre inspect receptive-field: plots the receptive field of causal language models, by position encoding: the share of
// the gradient of a prediction that lies within the last tokens, over their number. Random weights attend evenly, so an
// untrained model shows the effect of its encoding alone: a bias over distance (alibi) is a soft window, and all others
// are similar to none. The effect of rope or of a table shows only in trained models.
#include "gyre/train/analysis/receptive_field.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/option_values.h"
#include "gyre/core/random.h"
#include "gyre/data/store/document_store.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/analysis/language_score.h"
#include "gyre/train/log/console.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/commands/scored_text.h"
#include "tools/options/computing_options.h"
#include "tools/options/model_choice.h"
#include "tools/plots/charts.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {
namespace {

// ---- Receptive fields of untrained and trained causal language models, averaged over several texts -----------------

// The measured receptive field of a model: one curve of the picture.
struct ReceptiveField {
  std::string name, position;
  int trained_length = 0;          // 0: random weights
  std::vector<double> cumulative;  // c_t of train/analysis/receptive_field.h
  // The share of the tokens beyond the training length; 0 for random weights.
  double beyond_training() const;
};

struct ReceptiveFieldOptions {
  EncoderOnlyConfig untrained = EncoderOnlyConfig::preset("lm-tiny");
  std::vector<Path> inputs;  // text for trained models; none: ids drawn uniformly from the vocabulary
  std::string checkpoint;    // choice for trained models
  BosChoice bos;             // choice for text
  int length = 0;            // tokens per text; limited by the positions of a trained model
  int samples = 8;           // number of texts
  uint64_t seed = 1;
};

// Measures the models one by one and shows the progress. `options` and `kernels` must outlive it.
class ReceptiveFields {
 public:
  ReceptiveFields(const ReceptiveFieldOptions& options, Kernels& kernels, size_t models)
      : options_(options), kernels_(kernels), line_({.total = int64_t(models) * options.samples}) {}

  // Draws new weights for each text. Throws UsageError for an invalid configuration.
  ReceptiveField untrained(const std::string& position);
  // Throws Error for a run that is not a causal language model and for a text that is too short.
  ReceptiveField trained(const Path& run);

 private:
  using Text = std::vector<int32_t>;
  Text random_text(int sample, int64_t length, int64_t vocabulary) const;
  std::vector<Text> texts_of(const Path& run, const EncoderOnly& model) const;
  void add(ReceptiveField& field, const EncoderOnly& model, const Text& text);

  const ReceptiveFieldOptions& options_;
  Kernels& kernels_;
  ProgressLine line_;
  int64_t done_ = 0;
};

constexpr int64_t kUntrainedVocabulary = 1000;

// `before`, the ids before a text, and an excerpt of the text. The excerpts of the samples are evenly spaced over it.
std::vector<int32_t> piece_of(const std::vector<int32_t>& tokens, const std::vector<int32_t>& before, int sample,
                              int samples, int64_t length) {
  const int64_t count = length - int64_t(before.size()), room = int64_t(tokens.size()) - count;
  require(count >= 0 && room >= 0, "[receptive field] expected at least ", count, " tokens of text for --length, got ",
          tokens.size());
  const auto begin = tokens.begin() + (samples == 1 ? 0 : room * sample / (samples - 1));
  std::vector<int32_t> ids = before;
  ids.insert(ids.end(), begin, begin + count);
  return ids;
}

double ReceptiveField::beyond_training() const {
  if (trained_length == 0 || size_t(trained_length) >= cumulative.size()) return 0;
  return 1 - cumulative[size_t(trained_length) - 1];
}

ReceptiveField ReceptiveFields::untrained(const std::string& position) {
  EncoderOnlyConfig config = options_.untrained;
  config.position.encoding = position;
  config.position.get<PositionTableOptions>().max_positions = options_.length;
  config.vocab_size = kUntrainedVocabulary;
  as_usage_error([&] { config.validate(); });
  EncoderOnly model(config);
  ReceptiveField field{position + ", random weights", position, 0, {}};
  for (int sample = 0; sample < options_.samples; ++sample) {
    model.parameters().allocate(options_.seed + uint64_t(sample), DType::f32, kernels_.device());
    add(field, model, random_text(sample, options_.length, kUntrainedVocabulary));
  }
  return field;
}

ReceptiveField ReceptiveFields::trained(const Path& run) {
  print_model_choice(run, options_.checkpoint);
  const auto model = load_model<EncoderOnly>(run, options_.checkpoint, kernels_.device());
  require(model->config().causal, "[receptive field] ", run.string(),
          ": expected a causal language model, got a bidirectional one");
  ReceptiveField field{run.string(), model->config().position.encoding, trained_length(run, options_.checkpoint), {}};
  for (const Text& text : texts_of(run, *model)) add(field, *model, text);
  return field;
}

ReceptiveFields::Text ReceptiveFields::random_text(int sample, int64_t length, int64_t vocabulary) const {
  RandomStream random(options_.seed, mix(hash_name("receptive field"), uint64_t(sample)));
  Text ids;
  for (int64_t i = 0; i < length; ++i) ids.push_back(int32_t(random.below(uint64_t(vocabulary))));
  return ids;
}

std::vector<ReceptiveFields::Text> ReceptiveFields::texts_of(const Path& run, const EncoderOnly& model) const {
  const int64_t length = std::min<int64_t>(options_.length, model.longest()), vocabulary = model.config().vocab_size;
  std::vector<Text> texts;
  if (options_.inputs.empty()) {
    for (int sample = 0; sample < options_.samples; ++sample) texts.push_back(random_text(sample, length, vocabulary));
    return texts;
  }
  const auto pieces = load_run_vocabulary(find_run(run), {}, vocabulary);
  const Documents documents = open_scored_documents({}, run, options_.checkpoint, options_.inputs, *pieces, false);
  const Text tokens = concatenate_documents(documents.store, UINT64_MAX);
  const Text before = options_.bos.before_text(run, options_.checkpoint, *pieces);
  for (int sample = 0; sample < options_.samples; ++sample)
    texts.push_back(piece_of(tokens, before, sample, options_.samples, length));
  return texts;
}

// c_t is linear in the shares, so averaging c_t averages the shares.
void ReceptiveFields::add(ReceptiveField& field, const EncoderOnly& model, const Text& text) {
  const std::vector<double> one = cumulative_shares(gradient_shares(model, kernels_, text));
  field.cumulative.resize(one.size());
  for (size_t t = 0; t < one.size(); ++t) field.cumulative[t] += one[t] / options_.samples;
  line_.show(++done_, field.name);
}

// ---- The results of gyre inspect receptive-field as a picture, a table or JSON -------------------------------------

constexpr double kHeld[] = {0.5, 0.9, 0.99};

// Distances grow by at least 3 %, which is as fine as the picture can show.
PlotLine line_of(const ReceptiveField& field) {
  PlotLine line{field.name, {}, {}};
  for (size_t t = 0; t < field.cumulative.size(); t = std::max(t + 1, size_t(double(t) * 1.03))) {
    line.x.push_back(double(t + 1));
    line.y.push_back(field.cumulative[t]);
  }
  line.x.push_back(double(field.cumulative.size()));
  line.y.push_back(field.cumulative.back());
  return line;
}

// Draws one curve per field and marks the training lengths.
void draw_receptive_fields(const std::vector<ReceptiveField>& fields, const Path& output) {
  LinesPlot plot;
  plot.title = "receptive field: cumulative normalized gradient";
  plot.x_label = "tokens back, including the last one";
  plot.y_label = "share of the gradient of the next token's prediction";
  plot.shares = plot.powers_of_two = true;
  size_t longest = 0;
  std::set<int> trained_lengths;
  for (const ReceptiveField& field : fields) {
    plot.lines.push_back(line_of(field));
    longest = std::max(longest, field.cumulative.size());
    trained_lengths.insert(field.trained_length);
  }
  for (const int trained : trained_lengths) {
    if (trained > 0 && size_t(trained) <= longest)
      plot.marks.push_back({double(trained), concat("training length ", trained)});
  }
  draw_lines(plot, output);
}

Json receptive_fields_json(const std::vector<ReceptiveField>& fields) {
  Json all = Json::array();
  for (const ReceptiveField& field : fields) {
    const bool trained = field.trained_length > 0;
    Json one{{"name", field.name}, {"position", field.position}, {"length", field.cumulative.size()}};
    one["trained_length"] = trained ? Json(field.trained_length) : nullptr;
    one["last_token"] = field.cumulative.front();
    for (const double share : kHeld)
      one[fmt::format("distance_{:g}", 100 * share)] = distance_reaching(share, field.cumulative);
    one["beyond_training"] = trained ? Json(field.beyond_training()) : nullptr;
    all.push_back(std::move(one));
  }
  return all;
}

void print_receptive_fields(const std::vector<ReceptiveField>& fields) {
  fmt::print(
      "distance within which the tokens hold a share of the gradient; share of the last token itself, and of those "
      "beyond the training length\n{:<32} {:>7} {:>7} {:>7} {:>7} {:>10} {:>7}\n",
      "model", "length", "50 %", "90 %", "99 %", "last token", "beyond");
  for (const ReceptiveField& field : fields) {
    fmt::print("{:<32} {:>7}", field.name, field.cumulative.size());
    for (const double share : kHeld) fmt::print(" {:>7}", distance_reaching(share, field.cumulative));
    fmt::print(" {:>8.1f} %", 100 * field.cumulative.front());
    fmt::print("{}\n", field.trained_length > 0 ? fmt::format(" {:>5.1f} %", 100 * field.beyond_training()) : "");
  }
}

// Writes the curves by distance as JSON.
void write_curves(const std::vector<ReceptiveField>& fields, const Path& file) {
  Json curves = Json::array();
  for (const ReceptiveField& field : fields)
    curves.push_back({{"name", field.name}, {"position", field.position}, {"cumulative", field.cumulative}});
  write_file(file, json_text({{"curves", curves}}) + "\n");
}

struct InspectReceptiveFieldArgs {
  std::vector<std::string> positions;
  std::vector<Path> models;
  ReceptiveFieldOptions options;
  Path output = "receptive-field.svg", data;
  DeviceChoice device;
  CpuThreads threads;
  bool json = false;
  OptionTable* table = nullptr;
};

void check(const InspectReceptiveFieldArgs& args) {
  if (args.positions.empty() && args.models.empty())
    throw UsageError("--position, --model: expected encodings of untrained models or trained runs, got none");
  expect_at_least(0, "--length", args.options.length);
  expect_at_least(1, "--samples", args.options.samples);
  args.table->reject_unused("checkpoint", !args.models.empty(), "there is no --model");
  args.table->reject_unused("input", !args.models.empty(),
                            "there is no --model, and untrained models have no vocabulary");
  if (args.options.inputs.empty()) args.options.bos.reject("there is no --input");
  if (args.positions.empty()) args.table->reject_group("Untrained models", "there is no --position");
}

// The default length is four times the longest training length, to show the range beyond it. It has a limit, because
// the backward pass takes time that grows with the square of the length.
int usual_length(const InspectReceptiveFieldArgs& args) {
  constexpr int64_t limit = 8192;
  int64_t longest = 0;
  for (const Path& model : args.models)
    longest = std::max<int64_t>(longest, trained_length(model, args.options.checkpoint));
  return longest > 0 ? int(std::min(4 * longest, limit)) : 1024;
}

std::vector<ReceptiveField> measure(const InspectReceptiveFieldArgs& args) {
  ReceptiveFields work(args.options, args.device.kernels(), args.positions.size() + args.models.size());
  std::vector<ReceptiveField> fields;
  for (const std::string& position : args.positions) fields.push_back(work.untrained(position));
  for (const Path& run : args.models) fields.push_back(work.trained(run));
  return fields;
}

int inspect(InspectReceptiveFieldArgs& args) {
  check(args);
  args.threads.use();
  if (args.options.length == 0) args.options.length = usual_length(args);
  const std::vector<ReceptiveField> fields = measure(args);
  if (!args.data.empty()) write_curves(fields, args.data);
  draw_receptive_fields(fields, args.output);
  if (args.json) {
    const Json summary{
        {"length", args.options.length}, {"samples", args.options.samples}, {"models", receptive_fields_json(fields)}};
    print_summary(summary, true);
  } else {
    print_receptive_fields(fields);
  }
  return 0;
}

void add_position_row(OptionTable& table, InspectReceptiveFieldArgs& args) {
  table.add_custom(
      "--position", 1, OptionTable::kAnyNumber, "WORD,...", "encodings of untrained models, one curve each",
      [&args](const std::vector<std::string>& values) {
        args.positions.clear();
        for (const std::string& word : split_list(values))
          args.positions.push_back(chosen_word(word, position_encoding_names()));
      },
      [&args] { return toml_value(args.positions); });
}

}  // namespace

void add_inspect_receptive_field_command(Program& program) {
  auto args = std::make_shared<InspectReceptiveFieldArgs>();
  OptionTable& table = program.command("inspect receptive-field", "plot the receptive field of causal language models",
                                       [args] { return inspect(*args); });
  args->table = &table;
  add_position_row(table, *args);
  table.add("--model,-m", args->models, "PATH...",
            "runs of gyre train lm, one curve each; the training length is marked");
  add_checkpoint_row(table, args->options.checkpoint);
  table.add("--input,-i", args->options.inputs, "FILE...",
            "text for the runs, or one token store; default: ids drawn uniformly from the vocabulary");
  args->options.bos.add_row(table);
  table.add("--length", args->options.length, "TOKENS",
            "length of the texts, limited by the positions of a model; 0: four times the longest training length, at "
            "most 8192, or 1024");
  table.add("--samples", args->options.samples, "TEXTS",
            "number of texts to average over, with new weights for each in untrained models");
  table.add("--seed", args->options.seed, "NUMBER", "random seed of ids and untrained weights");
  table.add_picture("--output,--out,-o", args->output, "output picture");
  table.add("--data", args->data, "FILE", "also write the curves by distance as JSON");
  args->device.add_row(table);
  args->threads.add_row(table);
  table.add_flag("--json", args->json, "print one JSON object");
  table.group("Untrained models");
  table.add("--dim-emb", args->options.untrained.dim, "NUMBER", "width of the model");
  table.add("--layers", args->options.untrained.layers, "LAYERS", "number of layers");
  table.add("--transformer-heads", args->options.untrained.heads, "HEADS", "number of attention heads");
  table.add("--transformer-dim-ffn", args->options.untrained.ffn, "NUMBER", "inner width of the feed-forward blocks");
}

}  // namespace gyre
