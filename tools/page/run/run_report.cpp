#include "tools/page/run/run_report.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/log/metrics_log.h"
#include "tools/page/assets.h"
#include "tools/page/page.h"
#include "tools/page/run/run_columns.h"
#include "tools/page/run/run_files.h"
#include "tools/page/run/run_samples.h"
#include "tools/page/run/run_summary.h"

namespace gyre {
namespace {

Path metrics_of(const Path& run) {
  Path file = run / "metrics.jsonl";
  if (!std::filesystem::is_directory(run)) throw UsageError("--model: expected a run directory, got ", run.string());
  if (!std::filesystem::is_regular_file(file))
    throw UsageError("--model: expected the directory of a run, found no metrics.jsonl in ", run.string());
  return file;
}

void check(const std::vector<Path>& runs) {
  if (runs.empty() || runs.size() > 2) throw UsageError("--model: expected one or two runs, got ", runs.size());
  for (const Path& run : runs) metrics_of(run);
  if (runs.size() == 2 && std::filesystem::equivalent(runs[0], runs[1]))
    throw UsageError("--model: expected two runs, got ", runs[0].string(), " twice");
}

// Runs whose directories have the same name are named by their paths.
std::vector<std::string> names_of(const std::vector<Path>& runs) {
  std::vector<std::string> names;
  for (const Path& run : runs) names.push_back(run_name(run));
  if (names.size() == 2 && names[0] == names[1]) return {runs[0].string(), runs[1].string()};
  return names;
}

Json run_json(const Path& run, const std::string& name) {
  const std::vector<Json> entries = read_metrics(metrics_of(run));
  return {{"name", name},
          {"progress", run_progress(entries)},
          {"environment", run_environment(run, entries)},
          {"train", metric_columns(entries, "train")},
          {"valid", metric_columns(entries, "valid")},
          {"samples", sample_histories(entries)},
          {"checkpoints", run_checkpoints(run, entries)},
          {"options", run_options(run)},
          {"architecture", run_architecture(run)},
          {"messages", opening_messages(run)}};
}

}  // namespace

std::string run_report(const std::vector<Path>& runs) {
  check(runs);
  const std::vector<std::string> names = names_of(runs);
  Json data{{"runs", Json::array()}};
  std::string title = runs.size() == 1 ? "Training run " : "Training runs ";
  for (size_t i = 0; i < runs.size(); ++i) {
    data["runs"].push_back(run_json(runs[i], names[i]));
    title += (i == 0 ? "" : " and ") + names[i];
  }
  return make_page(page_asset("run/page.html"), title, data);
}

}  // namespace gyre
