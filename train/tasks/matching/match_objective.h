// The losses and the scores of text matching. A model gives each pair of texts a score; the larger it is, the nearer
// are the texts. The rows are those of LabeledIds: row 2i has the pair with the nearer candidate of triplet i, and row
// 2i + 1 the pair with the farther one.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/tasks/predictions.h"

namespace gyre {

// cross_entropy: the binary cross-entropy of sigmoid(score), with pairs as examples of class 1 (nearer) and 0.
// margin: max(0, margin - nearer + farther) of each triplet.
enum class MatchLoss : uint8_t { cross_entropy, margin };
template <>
inline constexpr std::pair<MatchLoss, std::string_view> kEnumNames<MatchLoss>[] = {
    {MatchLoss::cross_entropy, "cross-entropy"}, {MatchLoss::margin, "margin-loss"}};

struct MatchObjective {
  MatchLoss loss = MatchLoss::cross_entropy;
  double margin = 1;

  bool is_margin_loss() const { return loss == MatchLoss::margin; }
  // The number of terms of the loss: 2 pairs, or 1.
  uint64_t predictions_per_triplet() const { return is_margin_loss() ? 1 : 2; }
  // The loss of a batch of pairs, summed over its terms.
  LossResult operator()(Tape& tape, const SequenceClassifier& model, const LabeledInput& pairs) const;
};

// Computes a metric: accuracy, the share of triplets in which the nearer pair has the larger score, with ties as
// errors; or one of the losses, per term. Throws a UsageError for any other name.
double match_score(std::string_view metric, const Predictions& predictions, const MatchObjective& objective);

// run/task.json of text matching, which the evaluation needs in addition to the model:
//   {"task": "match", "loss": "cross-entropy", "margin": 1.0, "max_length": 1024}
struct MatchTask {
  MatchObjective objective;
  int max_length = 0;  // pairs are truncated to this number of ids

  Json to_json() const;
};

// True if run/task.json exists and is that of text matching.
bool is_match_task(const Path& run);

// Reads run/task.json. Throws an Error that names the file if it is invalid or belongs to another task.
MatchTask read_match_task(const Path& run);

}  // namespace gyre
