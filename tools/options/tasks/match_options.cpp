#include "tools/options/tasks/match_options.h"

#include "tools/options/tasks/fine_tuning_options.h"

namespace gyre {

void add_match_options(OptionTable& table, MatchOptions& options) {
  table.group("Task");
  table.add_choice(
      "--loss", options.objective.loss, {"cross-entropy", "margin-loss"},
      "cross-entropy: classify each pair as near (1) or far (0); margin-loss: max(0, margin - near + far), "
      "with the model's scores of the two pairs of a triplet");
  table.add("--margin", options.objective.margin, "NUMBER", "margin of the margin loss");
  table.add("--swap-texts", options.swap, "PROBABILITY",
            "probability that the texts of a triplet's pairs trade places in training, drawn for each epoch");
  table.group("Data");
  table.add("--train-sets,-t", options.data.train_sets, "FILE",
            "training data: triplets of texts A, B, C and the label of the nearer one, B or C, as JSON lines or "
            "tab-separated columns with a header line");
  table.add("--valid-sets", options.data.valid_sets, "FILE", "validation data, in the same form");
  table.add("--max-length", options.data.max_length, "TOKENS",
            "maximum tokens per pair, [CLS] and [SEP] included; longer pairs are truncated, the longer text first");
  table.required("train-sets");
  add_fine_tuning_options(table, options, "triplets", "pairs", {"accuracy", "cross-entropy", "margin-loss"});
}

void check_match_options(const OptionTable& table, MatchOptions& options) {
  check_fine_tuning_options(table, options);
  table.reject_unused("margin", options.objective.is_margin_loss(), "--loss is not margin-loss");
}

}  // namespace gyre
