// gyre plot attention: draws the attention weights of a text, for one or several models.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "tools/commands/plot/attention_maps.h"
#include "tools/options/cpu_threads.h"
#include "tools/options/model_choice.h"
#include "tools/plots/heatmaps.h"
#include "tools/program.h"

namespace gyre {

namespace {

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
                         "--part", OptionTable::chosen_word(values.back(), {"encoder", "decoder", "cross"}));
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
