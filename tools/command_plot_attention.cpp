// gyre plot attention: the weights with which the tokens of a text attend to one another, of one or several models.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "data/utf8.h"
#include "models/encoder_only.h"
#include "tools/cpu_threads.h"
#include "tools/model_choice.h"
#include "tools/plots/heatmaps.h"
#include "tools/program.h"
#include "train/to_tensor.h"
#include "train/trained_model.h"

namespace gyre {

namespace {

struct PlotAttention {
  std::vector<Path> models;
  std::string checkpoint, text;
  Path output = "attention.png", data;
  int layer = 0, max_length = 0;
  std::vector<std::string> heads{"0"};
  double threshold = 0;
  CpuThreads threads;
};

// The tokens of a text as a model reads them, and a layer's weights (heads, tokens, tokens).
struct Weights {
  std::vector<std::string> pieces;
  Tensor values;
};

// <s> text, and with the end of a text where the model sees both sides.
std::vector<int32_t> ids_of(const PlotAttention& call, const Vocabulary& vocabulary, bool causal) {
  require(!first_invalid_utf8(call.text), "[plot] --text is not valid UTF-8");
  std::vector<int32_t> ids{vocabulary.bos()};
  std::istringstream lines(call.text);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<int32_t> some = vocabulary.encode(line);
    ids.insert(ids.end(), some.begin(), some.end());
  }
  require(ids.size() > 1, "[plot] --text: expected at least one token, got none");
  if (!causal) ids.push_back(vocabulary.eos());
  if (call.max_length > 0) ids.resize(std::min(ids.size(), size_t(call.max_length)));
  return ids;
}

Tensor weights_of(const EncoderOnly& model, const std::vector<int32_t>& ids, int layer) {
  Tape tape(cpu_kernels(), {});
  model.encode(tape, to_tensor(ids), Segments::from_lengths({int32_t(ids.size())}));
  int found = 0;
  for (size_t node = 0; node < tape.nodes().size(); ++node) {
    if (tape.nodes()[node].name() == "attention" && found++ == layer) return attention_weights(tape, int(node), 0);
  }
  throw UsageError("--layer: expected one of the ", found, " layers with softmax attention, counted from 0, got ",
                   layer);
}

Weights read_weights(const PlotAttention& call, const Path& run) {
  print_model_choice(run, call.checkpoint);
  const auto trained = load_trained_model<EncoderOnly>(run, call.checkpoint, {}, Device{});
  const std::vector<int32_t> ids = ids_of(call, *trained.vocabulary, trained.model->config().causal);
  require(int64_t(ids.size()) <= trained.model->longest(), "[plot] --text: ", run.string(), " has positions for ",
          trained.model->longest(), " tokens, got ", ids.size(), "; see --max-length");
  Weights weights{{}, weights_of(*trained.model, ids, call.layer)};
  for (const int32_t id : ids) weights.pieces.push_back(trained.vocabulary->piece(id));
  return weights;
}

// Of all models, so they have as many.
std::vector<int> chosen_heads(const PlotAttention& call, const std::vector<Weights>& all) {
  int64_t fewest = all.front().values.dim(0);
  for (const Weights& weights : all) fewest = std::min(fewest, weights.values.dim(0));
  std::vector<int> heads;
  for (const std::string& word : call.heads) {
    if (word == "all") {
      for (int64_t head = 0; head < fewest; ++head) heads.push_back(int(head));
      continue;
    }
    parse_value(word, heads.emplace_back());
    if (heads.back() < 0 || heads.back() >= fewest)
      throw UsageError("--head: expected numbers from 0 to ", fewest - 1, " or 'all', got ", word);
  }
  return heads;
}

std::vector<double> head_values(const Weights& weights, int head) {
  const std::vector<float> values = weights.values.slice(head, head + 1).to_vector<float>();
  return {values.begin(), values.end()};
}

// A column of panels per model, a row per head.
void draw(const PlotAttention& call, const std::vector<Weights>& all, const std::vector<int>& heads) {
  HeatmapsPlot plot;
  plot.title = concat("attention weights, layer ", call.layer);
  plot.x_label = "key";
  plot.y_label = "query";
  plot.columns = all.size();
  if (call.threshold > 0) {
    plot.title += concat(", black from ", call.threshold);
    plot.colors = HeatmapColors::threshold;
    plot.threshold = call.threshold;
  }
  for (const int head : heads) {
    for (size_t m = 0; m < all.size(); ++m) {
      const size_t tokens = all[m].pieces.size();
      plot.panels.push_back(
          {concat(call.models[m].string(), ", head ", head), tokens, tokens, head_values(all[m], head)});
    }
  }
  draw_heatmaps(plot, call.output);
}

nlohmann::ordered_json data_of(const PlotAttention& call, const std::vector<Weights>& all,
                               const std::vector<int>& heads) {
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (size_t m = 0; m < all.size(); ++m) {
    const size_t tokens = all[m].pieces.size();
    nlohmann::ordered_json maps = nlohmann::ordered_json::array();
    for (const int head : heads) {
      const std::vector<double> values = head_values(all[m], head);
      std::vector<std::vector<double>> rows;
      for (size_t i = 0; i < tokens; ++i)
        rows.emplace_back(values.begin() + ptrdiff_t(i * tokens), values.begin() + ptrdiff_t((i + 1) * tokens));
      maps.push_back({{"head", head}, {"weights", rows}});
    }
    models.push_back({{"model", call.models[m].string()}, {"tokens", all[m].pieces}, {"heads", maps}});
  }
  return {{"layer", call.layer}, {"models", models}};
}

int run(const PlotAttention& call) {
  if (call.layer < 0) throw UsageError("--layer: expected a number from 0, got ", call.layer);
  if (call.threshold < 0) throw UsageError("--threshold: expected a number above 0, got ", call.threshold);
  call.threads.use();
  std::vector<Weights> all;
  for (const Path& model : call.models) all.push_back(read_weights(call, model));
  const std::vector<int> heads = chosen_heads(call, all);
  if (!call.data.empty()) write_file(call.data, data_of(call, all, heads).dump() + "\n");
  draw(call, all, heads);
  return 0;
}

}  // namespace

void add_plot_attention_command(Program& program) {
  auto call = std::make_shared<PlotAttention>();
  OptionTable& table =
      program.command("plot attention", "draw what the tokens of a text attend to, of models side by side",
                      [call] { return run(*call); });
  table.add("--model,-m", call->models, "PATH...",
            "runs of gyre train lm or mlm, checkpoints in them or their weights");
  table.add("--text", call->text, "TEXT", "whose tokens are queries, from top to bottom, and keys, from left to right");
  for (const char* name : {"model", "text"}) table.required(name);
  table.add("--checkpoint", call->checkpoint, "NAME", "within a run: best, last, average or step-...; default best");
  table.add("--layer", call->layer, "NUMBER", "from 0");
  table.add_custom(
      "--head,--heads", 1, OptionTable::kAnyNumber, "NUMBER,...", "from 0, one or several, or all",
      [call](const std::vector<std::string>& values) { call->heads = split_list(values); },
      [call] { return toml_value(call->heads); });
  table.add("--threshold", call->threshold, "NUMBER",
            "weights from it on are black, those below yellow (0.001 in the literature); 0: a colour for each weight");
  table.add("--max-length", call->max_length, "TOKENS", "cut the text to so many, <s> included; 0: all of it");
  table.add_picture("--output,--out,-o", call->output, "the picture");
  table.add("--data", call->data, "FILE", "the weights as JSON, too");
  call->threads.add_row(table);
}

}  // namespace gyre
