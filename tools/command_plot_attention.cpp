// gyre plot attention: the weights with which the tokens of a text attend to one another, of one or several models.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cpu_threads.h"
#include "tools/model_choice.h"
#include "tools/plots/attention_maps.h"
#include "tools/plots/heatmaps.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct PlotAttention {
  std::vector<Path> models;
  std::string checkpoint;
  AttentionQuestion question;
  Path output = "attention.png", data;
  std::vector<std::string> heads{"0"};
  double threshold = 0;
  CpuThreads threads;
};

// Of all models, so they have as many.
std::vector<int> chosen_heads(const PlotAttention& call, const std::vector<AttentionMaps>& all) {
  int64_t fewest = all.front().weights.dim(0);
  for (const AttentionMaps& maps : all) fewest = std::min(fewest, maps.weights.dim(0));
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

std::vector<double> head_values(const AttentionMaps& maps, int head) {
  const std::vector<float> values = maps.weights.slice(head, head + 1).to_vector<float>();
  return {values.begin(), values.end()};
}

// Of one model the heads in a grid; of several a column for each, a row for each head.
size_t panel_columns(size_t models, size_t heads) {
  return models > 1 ? models : size_t(std::ceil(std::sqrt(double(heads))));
}

void draw(const PlotAttention& call, const std::vector<AttentionMaps>& all, const std::vector<int>& heads) {
  HeatmapsPlot plot;
  plot.title = concat(all.front().name, ", layer ", call.question.layer);
  if (all.size() == 1) plot.title += concat(", ", call.models.front().string());
  plot.x_label = "key";
  plot.y_label = "query";
  plot.columns = panel_columns(all.size(), heads.size());
  if (call.threshold > 0) {
    plot.title += concat(", black from ", call.threshold);
    plot.colors = HeatmapColors::threshold;
    plot.threshold = call.threshold;
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
      if (all.size() > 1) panel.title = concat(call.models[m].string(), ", ", panel.title);
      plot.panels.push_back(std::move(panel));
    }
  }
  draw_heatmaps(plot, call.output);
}

nlohmann::ordered_json data_of(const PlotAttention& call, const std::vector<AttentionMaps>& all,
                               const std::vector<int>& heads) {
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (size_t m = 0; m < all.size(); ++m) {
    const auto keys = ptrdiff_t(all[m].keys.size());
    nlohmann::ordered_json by_head = nlohmann::ordered_json::array();
    for (const int head : heads) {
      const std::vector<double> values = head_values(all[m], head);
      std::vector<std::vector<double>> rows;
      for (auto row = values.begin(); row != values.end(); row += keys) rows.emplace_back(row, row + keys);
      by_head.push_back({{"head", head}, {"weights", rows}});
    }
    models.push_back({{"model", call.models[m].string()},
                      {"attention", all[m].name},
                      {"queries", all[m].queries},
                      {"keys", all[m].keys},
                      {"heads", by_head}});
  }
  return {{"layer", call.question.layer}, {"models", models}};
}

int run(const PlotAttention& call) {
  if (call.question.layer < 0) throw UsageError("--layer: expected a number from 0, got ", call.question.layer);
  if (call.threshold < 0) throw UsageError("--threshold: expected a number above 0, got ", call.threshold);
  call.threads.use();
  std::vector<AttentionMaps> all;
  for (const Path& model : call.models) {
    print_model_choice(model, call.checkpoint);
    all.push_back(attention_maps(model, call.checkpoint, call.question));
  }
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
            "runs of gyre train lm, mlm or nmt, checkpoints in them or their weights");
  table.add("--text", call->question.text, "TEXT",
            "whose tokens are queries, from top to bottom, and keys, from left to right; of a translation, the source");
  for (const char* name : {"model", "text"}) table.required(name);
  table.add("--checkpoint", call->checkpoint, "NAME", "within a run: best, last, average or step-...; default best");
  table.add("--target", call->question.target, "TEXT", "what a translation model reads as its output; absent: its own");
  table.add_custom(
      "--part", 1, 1, "WORD",
      "of a translation model: the self-attention of its encoder or decoder, or from the one to the other (" +
          enum_choices<AttentionPart>() + "); absent: cross",
      [call](const std::vector<std::string>& values) {
        call->question.part = parse_enum<AttentionPart>(
            "--part", OptionTable::chosen_word(values.back(), {"encoder", "decoder", "cross"}));
      });
  table.offer({"encoder", "decoder", "cross"});
  table.add("--layer", call->question.layer, "NUMBER", "from 0");
  table.add_custom(
      "--head,--heads", 1, OptionTable::kAnyNumber, "NUMBER,...", "from 0, one or several, or all",
      [call](const std::vector<std::string>& values) { call->heads = split_list(values); },
      [call] { return toml_value(call->heads); });
  table.add("--threshold", call->threshold, "NUMBER",
            "weights from it on are black, those below yellow (0.001 in the literature); 0: a colour for each weight");
  table.add("--max-length", call->question.max_length, "TOKENS",
            "cut each text to so many, <s> and </s> included; 0: all of it");
  table.add_picture("--output,--out,-o", call->output, "the picture");
  table.add("--data", call->data, "FILE", "the weights as JSON, too");
  call->threads.add_row(table);
}

}  // namespace gyre
