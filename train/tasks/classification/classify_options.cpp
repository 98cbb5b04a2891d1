#include "gyre/train/tasks/classification/classify_options.h"

#include <set>
#include <string_view>
#include <utility>

#include "gyre/core/option_checks.h"

namespace gyre {

void check_labels(const std::vector<std::string>& labels) {
  std::set<std::string_view> seen;
  for (const std::string& name : labels) {
    expect(seen.insert(name).second, "--labels", "different names", concat("'", name, "' twice"));
    expect(name.find_first_of("\t\r\n") == std::string::npos, "--labels", "names without tabs and line ends",
           "one with");
  }
}

ClassifyOptions::ClassifyOptions() : FineTuningOptions(2e-5) {
  data.max_length = 128;
  batch.size = 32;
  optimizer.kind = "adamw";
  optimizer.epsilon = 1e-6;
  optimizer.weight_decay = 0.01;
  optimizer.clip_norm = 1;
  optimizer.schedule.kind = "linear";
  optimizer.schedule.warmup_percent = kFineTuningWarmup;
  stop.after = {3, Period::Unit::epochs};
}

std::vector<std::string> ClassifyOptions::metrics(bool is_regression) {
  if (is_regression) return {"mean-squared-error", "pearson", "spearman"};
  return {"cross-entropy", "accuracy", "f1", "macro-f1", "matthews"};
}

void ClassifyOptions::declare(OptionList& list, std::vector<std::string> valid_metrics) {
  list.group("Data");
  list.add(OnResume::same_bits, "--train-sets,-t", &data.train_sets, "FILE",
           "training data: tab-separated rows, without quoting", {.required = true});
  list.add(OnResume::same_bits, "--valid-sets", &data.valid_sets, "FILE", "validation data, in the same form");
  list.add(OnResume::other_data, "--max-length", &data.max_length, "TOKENS",
           "maximum tokens per row, [CLS] and [SEP] included; longer rows are truncated, the longer text first",
           {.bounds = at_least(1)});
  declare_fine_tuning(list, "rows", "rows", std::move(valid_metrics));
}

void ClassifyOptions::validate() const {
  FineTuningOptions::validate();
  expect(format.label.has_value(), "--label-column", "a column", "none");
  expect(format.is_regression() || format.classes.size() >= 2, "--labels", "at least two classes",
         format.classes.size());
  check_labels(format.classes);
  for (const std::string& metric : validation.metrics) {
    expect_one_of(metrics(format.is_regression()), "--valid-metrics", metric);
    expect(metric != "f1" || format.classes.size() == 2, "--valid-metrics", "macro-f1 with more than two classes",
           metric);
  }
}

}  // namespace gyre
