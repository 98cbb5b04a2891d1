#include "gyre/train/tasks/matching/match_options.h"

#include <string>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/option_checks.h"

namespace gyre {

namespace {

// The metrics of a validation: accuracy, and the losses by their names.
std::vector<std::string> match_metrics(const std::vector<MatchLoss>& losses) {
  std::vector<std::string> metrics{"accuracy"};
  for (const MatchLoss loss : losses) metrics.emplace_back(enum_name(loss));
  return metrics;
}

}  // namespace

MatchOptions::MatchOptions() : FineTuningOptions(6e-6) {
  data.max_length = 1024;
  batch.size = 4;
  optimizer.kind = "adam";
  optimizer.epsilon = 1e-6;
  optimizer.schedule.kind = "constant";
  optimizer.schedule.warmup = 0;
  stop.after = {20, Period::Unit::epochs};
  validation.metrics = {"accuracy"};
  validation.mini_batch = 8;
  head = ClassifierHead::mean;
  classifier_dropout = 0;
}

void MatchOptions::declare(OptionList& list) {
  list.group("Task");
  list.add(OnResume::other_bits, "--loss", &objective.loss,
           "cross-entropy: classify each pair as near (1) or far (0); margin-loss: max(0, margin - near + far), with "
           "the model's scores of the two pairs of a triplet");
  list.add(OnResume::other_bits, "--margin", &objective.margin, "NUMBER", "margin of the margin loss",
           {.bounds = finite_at_least(0),
            .unused = [this] { return objective.is_margin_loss() ? "" : "--loss is not margin-loss"; }});
  list.add(OnResume::other_bits, "--swap-texts", &swap, "PROBABILITY",
           "probability that the texts of a triplet's pairs trade places in training, drawn for each epoch",
           {.bounds = Bounds{.expected = "a probability between 0 and 1", .minimum = 0, .maximum = 1}});
  list.group("Data");
  list.add(OnResume::same_bits, "--train-sets,-t", &data.train_sets, "FILE",
           "training data: triplets of texts A, B, C and the label of the nearer one, B or C, as JSON lines or "
           "tab-separated columns with a header line",
           {.required = true});
  list.add(OnResume::same_bits, "--valid-sets", &data.valid_sets, "FILE", "validation data, in the same form");
  list.add(OnResume::other_data, "--max-length", &data.max_length, "TOKENS",
           "maximum tokens per pair, [CLS] and [SEP] included; longer pairs are truncated, the longer text first",
           {.bounds = at_least(1)});
  declare_fine_tuning(list, "triplets", "pairs", match_metrics(enum_values<MatchLoss>()));
}

void MatchOptions::validate() const {
  FineTuningOptions::validate();
  for (const std::string& metric : validation.metrics)
    expect_one_of(match_metrics({objective.loss}), "--valid-metrics", metric);
}

}  // namespace gyre
