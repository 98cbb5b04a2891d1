#include "gyre/train/tasks/classification/predictions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "gyre/train/metrics/classification.h"
#include "gyre/train/metrics/correlation.h"
#include "gyre/train/tasks/classification/labeled_input.h"

namespace gyre {
namespace {

// Orders the rows by length, the longest first: the last batches are cheap, so that the ranks finish together.
std::vector<uint32_t> by_length(const LabeledIds& rows) {
  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return rows.length(a) > rows.length(b); });
  return order;
}

double cross_entropy_of(const Predictions& predictions, std::span<const int32_t> labels) {
  double sum = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    const std::span<const double> logits(predictions.outputs.data() + row * predictions.columns, predictions.columns);
    const double most = *std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (const double x : logits) total += std::exp(x - most);
    sum += most + std::log(total) - logits[size_t(labels[row])];
  }
  return sum / double(labels.size());
}

double mean_squared_error(const Predictions& predictions, std::span<const float> scores) {
  double sum = 0;
  for (size_t row = 0; row < scores.size(); ++row) {
    const double difference = predictions.outputs[row] - double(scores[row]);
    sum += difference * difference;
  }
  return sum / double(scores.size());
}

}  // namespace

std::vector<int32_t> Predictions::classes() const {
  std::vector<int32_t> best;
  for (auto row = outputs.begin(); row != outputs.end(); row += ptrdiff_t(columns))
    best.push_back(int32_t(std::max_element(row, row + ptrdiff_t(columns)) - row));
  return best;
}

Predictions predict(const SequenceClassifier& model, const LabeledIds& rows, size_t mini_batch, Precision precision,
                    Kernels& kernels, Communicator& ranks) {
  const std::vector<uint32_t> order = by_length(rows);
  Predictions all{{}, size_t(model.config().classes)};
  all.outputs.resize(rows.size() * all.columns);
  // Each rank fills in its own rows and leaves zeros elsewhere, so that the all-reduce does not round.
  const auto stride = size_t(ranks.size()) * mini_batch;
  for (size_t begin = size_t(ranks.rank()) * mini_batch; begin < order.size(); begin += stride) {
    const auto some = std::span(order).subspan(begin, std::min(mini_batch, order.size() - begin));
    Tape tape(kernels, {.record = false, .precision = precision});
    const LabeledInput input = labeled_input(rows.batch(some), model.config().encoder);
    const std::vector<double> outputs = model.outputs(tape, input).value().to_cpu().to(DType::f64).to_vector<double>();
    for (size_t i = 0; i < some.size(); ++i)
      std::copy_n(&outputs[i * all.columns], all.columns, &all.outputs[some[i] * all.columns]);
  }
  ranks.all_reduce(std::span<double>(all.outputs));
  return all;
}

double score(std::string_view metric, const Predictions& predictions, const LabeledIds& rows) {
  if (!rows.is_regression()) {
    if (metric == "cross-entropy") return cross_entropy_of(predictions, rows.labels());
    return classification_score(metric, predictions.classes(), rows.labels());
  }
  if (metric == "mean-squared-error") return mean_squared_error(predictions, rows.scores());
  const std::vector<double> actual(rows.scores().begin(), rows.scores().end());
  return correlation_score(metric, predictions.outputs, actual);
}

}  // namespace gyre
