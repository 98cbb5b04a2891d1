// gyre plot attention: draws the attention weights of a text, for one or several models.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/tensor.h"
#include "gyre/models/decode/translate.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/inputs.h"
#include "gyre/train/tasks/translation/decoding.h"
#include "tools/options/computing_options.h"
#include "tools/options/model_choice.h"
#include "tools/plots/charts.h"
#include "tools/program.h"

namespace gyre {

// ---- Computes the attention weights of a trained model over a text -------------------------------------------------

// The attention to show of a translation model; other models have only self-attention.
enum class AttentionPart : uint8_t { encoder, decoder, cross };

template <>
inline constexpr std::pair<AttentionPart, std::string_view> kEnumNames<AttentionPart>[] = {
    {AttentionPart::encoder, "encoder"}, {AttentionPart::decoder, "decoder"}, {AttentionPart::cross, "cross"}};

struct AttentionMapOptions {
  std::string text;
  std::string target;                 // target text for a translation model; empty: its own translation
  std::optional<AttentionPart> part;  // part of a translation model; none: cross
  BosChoice bos;                      // choice for a causal language model
  int layer = 0;
  int max_length = 0;  // maximum tokens of each text, <s> and </s> included; 0: no limit
};

struct AttentionMaps {
  std::string name;                        // "self-attention", "cross-attention"
  std::vector<std::string> queries, keys;  // the pieces of the tokens
  Tensor weights;                          // (heads, queries, keys)
};

namespace {

using Ids = std::vector<int32_t>;

Ids encode(const std::string& text, const char* option, const Vocabulary& vocabulary) {
  Ids ids;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Ids some = vocabulary.encode(line);
    ids.insert(ids.end(), some.begin(), some.end());
  }
  require(!ids.empty(), "[plot] ", option, ": expected at least one token, got none");
  return ids;
}

void cut(Ids& ids, const AttentionMapOptions& options, int64_t longest, const Path& model) {
  if (options.max_length > 0) ids.resize(std::min(ids.size(), size_t(options.max_length)));
  require(int64_t(ids.size()) <= longest, "[plot] ", model.string(), " has positions for ", longest, " tokens, got ",
          ids.size(), "; see --max-length");
}

std::vector<std::string> pieces_of(const Ids& ids, const Vocabulary& vocabulary) {
  std::vector<std::string> pieces;
  for (const int32_t id : ids) pieces.push_back(vocabulary.piece(id));
  return pieces;
}

// Weights of one layer. From node `begin` on, each layer has `per_layer` nodes of softmax attention; the weights are
// those at number `number` of them.
Tensor weights_of_layer(const Tape& tape, size_t begin, size_t number, size_t per_layer, int layer) {
  const std::vector<int> nodes = attention_nodes(tape, begin);
  const size_t layers = nodes.size() / per_layer;
  if (size_t(layer) >= layers)
    throw UsageError("--layer: expected one of the ", layers, " layers with softmax attention, counted from 0, got ",
                     layer);
  return attention_weights(tape, nodes[size_t(layer) * per_layer + number], 0);
}

void reject_bos(const AttentionMapOptions& options, const Path& model) {
  options.bos.reject(concat(model.string(), " is not a causal language model"));
}

// A causal model reads the text as in generation, a bidirectional one the text between <s> and </s>.
AttentionMaps of_language_model(const Path& path, const std::string& checkpoint, const AttentionMapOptions& options) {
  if (options.part || !options.target.empty())
    throw UsageError("--", options.part ? "part" : "target", " would have no effect: ", path.string(),
                     " is not a translation model");
  const auto [vocabulary, model] = load_trained_model<EncoderOnly>(path, checkpoint, {}, Device{});
  Ids ids = encode(options.text, "--text", *vocabulary);
  if (model->config().causal) {
    put_before_text(options.bos.before_text(path, checkpoint, *vocabulary), *vocabulary, ids);
  } else {
    reject_bos(options, path);
    ids.insert(ids.begin(), vocabulary->bos());
    ids.push_back(vocabulary->eos());
  }
  cut(ids, options, model->longest(), path);
  Tape tape(cpu_kernels(), {});
  model->encode(tape, to_tensor(ids), Segments::from_lengths({int32_t(ids.size())}));
  const std::vector<std::string> pieces = pieces_of(ids, *vocabulary);
  return {"self-attention", pieces, pieces, weights_of_layer(tape, 0, 0, 1, options.layer)};
}

// The input of the decoder: <s> and the target. Without a given target the model translates the source.
Ids target_of(const AttentionMapOptions& options, const Vocabulary& vocabulary, const EncoderDecoder& model,
              const Ids& source) {
  Ids ids;
  if (options.target.empty()) {
    DecodeOptions decoding;
    set_vocabulary(decoding, vocabulary);
    ids = translate(model, cpu_kernels(), {source}, decoding).front().front().ids;
  } else {
    ids = encode(options.target, "--target", vocabulary.side(1));
  }
  ids.insert(ids.begin(), vocabulary.bos());
  return ids;
}

AttentionMaps of_translation_model(const Path& path, const std::string& checkpoint,
                                   const AttentionMapOptions& options) {
  reject_bos(options, path);
  const auto [vocabulary, model] = load_trained_model<EncoderDecoder>(path, checkpoint, {}, Device{});
  Ids source = encode(options.text, "--text", vocabulary->side(0));
  source.push_back(vocabulary->eos());
  cut(source, options, model->longest(), path);
  const Segments sources = Segments::from_lengths({int32_t(source.size())});
  Tape tape(cpu_kernels(), {});
  const Var encoded = model->encode(tape, to_tensor(source), sources);
  const std::vector<std::string> keys = pieces_of(source, vocabulary->side(0));
  const AttentionPart part = options.part.value_or(AttentionPart::cross);
  if (part == AttentionPart::encoder)
    return {"self-attention of the encoder", keys, keys, weights_of_layer(tape, 0, 0, 1, options.layer)};
  const size_t decoder = tape.nodes().size();
  Ids target = target_of(options, *vocabulary, *model, source);
  cut(target, options, model->longest(), path);
  model->decode(tape, encoded, sources, to_tensor(target), Segments::from_lengths({int32_t(target.size())}));
  const std::vector<std::string> queries = pieces_of(target, vocabulary->side(1));
  if (part == AttentionPart::decoder)  // each decoder layer has self-attention, then cross-attention
    return {"self-attention of the decoder", queries, queries, weights_of_layer(tape, decoder, 0, 2, options.layer)};
  return {"cross-attention", queries, keys, weights_of_layer(tape, decoder, 1, 2, options.layer)};
}

// model, checkpoint: as for find_model_file(). Throws UsageError for a layer that does not exist, and for a part or a
// target if the model is not a translation model, and for a choice of BOS if it is not a causal language model.
AttentionMaps attention_maps(const Path& model, const std::string& checkpoint, const AttentionMapOptions& options) {
  return model_kind(find_run(model)) == EncoderDecoderConfig::kModel ? of_translation_model(model, checkpoint, options)
                                                                     : of_language_model(model, checkpoint, options);
}

struct PlotAttentionArgs {
  std::vector<Path> models;
  std::string checkpoint;
  AttentionMapOptions options;
  Path output = "attention.png", data;
  std::vector<std::string> heads{"0"};
  double threshold = 0;
  CpuThreads threads;
};

// The heads that all models have.
std::vector<int> chosen_heads(const PlotAttentionArgs& args, const std::vector<AttentionMaps>& all) {
  int64_t fewest = all.front().weights.dim(0);
  for (const AttentionMaps& maps : all) fewest = std::min(fewest, maps.weights.dim(0));
  std::vector<int> heads;
  for (const std::string& word : args.heads) {
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

std::vector<double> head_values(const AttentionMaps& maps, int head) {
  const std::vector<float> values = maps.weights.slice(head, head + 1).to_vector<float>();
  return {values.begin(), values.end()};
}

// One model: the heads in a grid. Several models: one column per model, one row per head.
size_t panel_columns(size_t models, size_t heads) {
  return models > 1 ? models : size_t(std::ceil(std::sqrt(double(heads))));
}

void draw(const PlotAttentionArgs& args, const std::vector<AttentionMaps>& all, const std::vector<int>& heads) {
  HeatmapsPlot plot;
  plot.title = concat(all.front().name, ", layer ", args.options.layer);
  if (all.size() == 1) plot.title += concat(", ", args.models.front().string());
  plot.x_label = "key";
  plot.y_label = "query";
  plot.columns = panel_columns(all.size(), heads.size());
  if (args.threshold > 0) {
    plot.title += concat(", black from ", args.threshold);
    plot.colors = HeatmapColors::threshold;
    plot.threshold = args.threshold;
  }
  for (const int head : heads) {
    for (size_t m = 0; m < all.size(); ++m) {
      const AttentionMaps& maps = all[m];
      Heatmap panel{.title = concat("head ", head),
                    .rows = maps.queries.size(),
                    .columns = maps.keys.size(),
                    .values = head_values(maps, head),
                    .row_names = maps.queries,
                    .column_names = maps.keys};
      if (all.size() > 1) panel.title = concat(args.models[m].string(), ", ", panel.title);
      plot.panels.push_back(std::move(panel));
    }
  }
  draw_heatmaps(plot, args.output);
}

Json data_of(const PlotAttentionArgs& args, const std::vector<AttentionMaps>& all, const std::vector<int>& heads) {
  Json models = Json::array();
  for (size_t m = 0; m < all.size(); ++m) {
    const auto keys = ptrdiff_t(all[m].keys.size());
    Json by_head = Json::array();
    for (const int head : heads) {
      const std::vector<double> values = head_values(all[m], head);
      std::vector<std::vector<double>> rows;
      for (auto row = values.begin(); row != values.end(); row += keys) rows.emplace_back(row, row + keys);
      by_head.push_back({{"head", head}, {"weights", rows}});
    }
    models.push_back({{"model", args.models[m].string()},
                      {"attention", all[m].name},
                      {"queries", all[m].queries},
                      {"keys", all[m].keys},
                      {"heads", by_head}});
  }
  return {{"layer", args.options.layer}, {"models", models}};
}

int run(const PlotAttentionArgs& args) {
  expect_at_least(0, "--layer", args.options.layer);
  expect_at_least(0, "--threshold", args.threshold);
  expect_at_least(0, "--max-length", args.options.max_length);
  args.threads.use();
  std::vector<AttentionMaps> all;
  for (const Path& model : args.models) {
    print_model_choice(model, args.checkpoint);
    all.push_back(attention_maps(model, args.checkpoint, args.options));
  }
  const std::vector<int> heads = chosen_heads(args, all);
  if (!args.data.empty()) write_file(args.data, json_text(data_of(args, all, heads)) + "\n");
  draw(args, all, heads);
  return 0;
}

}  // namespace

void add_plot_attention_command(Program& program) {
  auto args = std::make_shared<PlotAttentionArgs>();
  OptionTable& table =
      program.command("plot attention", "draw the attention weights of a text, for one or several models",
                      [args] { return run(*args); });
  table.add("--model,-m", args->models, "PATH...",
            "runs of gyre train lm, mlm or nmt, checkpoints in them or model.safetensors files");
  table.add("--text", args->options.text, "TEXT",
            "text whose tokens are the queries (rows) and keys (columns); the source text for a translation model");
  for (const char* name : {"model", "text"}) table.required(name);
  add_checkpoint_row(table, args->checkpoint);
  table.add("--target", args->options.target, "TEXT",
            "target text for a translation model; default: its own translation");
  table.add_custom("--part", 1, 1, "WORD",
                   "attention of a translation model: self-attention of the encoder or decoder, or cross-attention (" +
                       enum_choices<AttentionPart>() + "); default: cross",
                   [args](const std::vector<std::string>& values) {
                     args->options.part = parse_enum<AttentionPart>(
                         "--part", chosen_word(values.back(), {"encoder", "decoder", "cross"}));
                   });
  table.set_completions({"encoder", "decoder", "cross"});
  table.add("--layer", args->options.layer, "NUMBER", "layer, from 0");
  table.add_custom(
      "--head,--heads", 1, OptionTable::kAnyNumber, "NUMBER,...", "heads, from 0, or all",
      [args](const std::vector<std::string>& values) { args->heads = split_list(values); },
      [args] { return toml_value(args->heads); });
  table.add("--threshold", args->threshold, "NUMBER",
            "draw weights of at least this in black, others in yellow (0.001 in the literature); 0: a color scale");
  args->options.bos.add_row(table);
  table.add("--max-length", args->options.max_length, "TOKENS",
            "truncate each text to this length, <s> and </s> included; 0: no limit");
  table.add_picture("--output,--out,-o", args->output, "output picture");
  table.add("--data", args->data, "FILE", "also write the weights as JSON");
  args->threads.add_row(table);
}

}  // namespace gyre
