// gyre plot answers: draws the scores of language models by data set, or their differences from those of a baseline.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/train/analysis/longbench.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/plots/charts.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct PlotAnswersArgs {
  std::vector<Path> results;
  Path baseline, output = "answers.png";
  std::string title;
};

using ScoresByDataset = std::map<std::string, double>;  // percent

// `names` gets the data sets of the file that it lacks.
ScoresByDataset read_scores(const Path& file, std::vector<std::string>& names) {
  const Json json = read_json(file);
  ScoresByDataset scores;
  try {
    for (const auto& row : json.at("datasets")) {
      const auto name = row.at("dataset").get<std::string>();
      scores[name] = row.at("score").get<double>();
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  } catch (const Json::exception&) {
    throw Error(file.string(), ": expected the output of gyre evaluate answers --json");
  }
  return scores;
}

// The data sets of LongBench in its order, which is that of their categories, then the others.
void sort_names(std::vector<std::string>& names) {
  std::ranges::stable_sort(names, {}, [](const std::string& name) {
    const auto tasks = longbench_tasks();
    return std::ranges::find(tasks, name, &LongBenchTask::dataset) - tasks.begin();
  });
}

double score_of(const ScoresByDataset& scores, const std::string& name) {
  const auto found = scores.find(name);
  return found == scores.end() ? NAN : found->second;
}

int run(const PlotAnswersArgs& args) {
  std::vector<std::string> names;
  std::vector<ScoresByDataset> all;
  for (const Path& file : args.results) all.push_back(read_scores(file, names));
  const bool differs = !args.baseline.empty();
  const ScoresByDataset baseline = differs ? read_scores(args.baseline, names) : ScoresByDataset();
  if (differs)  // a data set without a score of the baseline has no difference
    std::erase_if(names, [&](const std::string& name) { return !baseline.contains(name); });
  sort_names(names);
  BarsPlot plot;
  plot.title = args.title;
  plot.y_label = differs ? "score minus that of " + args.baseline.stem().string() : "score";
  plot.names = names;
  for (size_t i = 0; i < all.size(); ++i) {
    BarSeries series{args.results[i].stem().string(), {}};
    for (const std::string& name : names)
      series.values.push_back(score_of(all[i], name) - (differs ? score_of(baseline, name) : 0));
    require(std::ranges::any_of(series.values, [](double value) { return std::isfinite(value); }), "[plot] ",
            args.results[i].string(), ": expected a data set that ", args.baseline.string(), " has too, found none");
    plot.series.push_back(std::move(series));
  }
  draw_bars(plot, args.output);
  return 0;
}

}  // namespace

void add_plot_answers_command(Program& program) {
  auto args = std::make_shared<PlotAnswersArgs>();
  OptionTable& table =
      program.command("plot answers", "draw scores of language models, or their differences, by data set",
                      [args] { return run(*args); });
  table.add("--results", args->results, "FILE...",
            "files from gyre evaluate answers --json, whose names appear in the legend");
  table.required("results");
  table.add("--baseline", args->baseline, "FILE",
            "such a file of another model; draws the differences from its scores");
  table.add("--title", args->title, "TEXT", "title");
  table.add_picture("--output,--out,-o", args->output, "output picture");
}

}  // namespace gyre
