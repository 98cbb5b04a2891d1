// gyre inspect stages: a table of what each stage of a pretraining run reached.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/train/log/metrics_log.h"
#include "gyre/train/log/stage_table.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct InspectStagesArgs {
  Path model;
  bool json = false;
};

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const StageRow& row) {
  return {{"stage", row.stage},
          {"begin", row.begin},
          {"updates", row.updates},
          {"of_updates", row.of_updates},
          {"max_length", row.max_length},
          {"batch", row.batch},
          {"batch_unit", row.batch_unit},
          {"tokens", row.tokens},
          {"loss", json_of(row.loss)},
          {"accuracy", json_of(row.accuracy)},
          {"valid_loss", json_of(row.valid_loss)},
          {"valid_accuracy", json_of(row.valid_accuracy)}};
}

std::string text_of(const std::optional<double>& value, double scale, const char* format) {
  if (!value) return "-";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, format, scale * *value);
  return buffer;
}

// A Markdown table.
void print_rows(const std::vector<StageRow>& rows) {
  std::puts("| stage | length | batch | updates | tokens | loss | accuracy | valid loss | valid accuracy |");
  std::puts("|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
  for (const StageRow& row : rows) {
    const std::string unit = row.batch_unit == "sentences" ? "samples" : "tokens";
    const std::string updates =
        row.updates == row.of_updates ? std::to_string(row.updates) : concat(row.updates, " of ", row.of_updates);
    std::printf("| %d | %d | %s | %s | %.3g M | %s | %s | %s | %s |\n", int(row.stage), row.max_length,
                concat(row.batch, " ", unit).c_str(), updates.c_str(), double(row.tokens) / 1e6,
                text_of(row.loss, 1, "%.3f").c_str(), text_of(row.accuracy, 100, "%.1f %%").c_str(),
                text_of(row.valid_loss, 1, "%.3f").c_str(), text_of(row.valid_accuracy, 100, "%.1f %%").c_str());
  }
}

int inspect(const InspectStagesArgs& args) {
  const Path metrics = args.model / "metrics.jsonl";
  const std::vector<StageRow> rows = stage_rows(read_metrics(metrics));
  require(!rows.empty(), "[stages] ", metrics.string(),
          ": expected a run with stages ([[stage]] in its configuration), found none");
  if (!args.json) {
    print_rows(rows);
    return 0;
  }
  Json summary{{"stages", Json::array()}};
  for (const StageRow& row : rows) summary["stages"].push_back(to_json(row));
  print_summary(summary, true);
  return 0;
}

}  // namespace

void add_inspect_stages_command(Program& program) {
  auto args = std::make_shared<InspectStagesArgs>();
  OptionTable& table =
      program.command("inspect stages", "print the loss and the accuracy that each stage of a pretraining run reached",
                      [args] { return inspect(*args); });
  table.add("--model,-m", args->model, "DIRECTORY", "run directory of gyre train mlm or lm with [[stage]] tables");
  table.required("model");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
