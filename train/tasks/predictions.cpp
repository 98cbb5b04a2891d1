#include "gyre/train/tasks/predictions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "gyre/train/tasks/inputs.h"

namespace gyre {
namespace {

// Orders the rows by length, the longest first: the last batches are cheap, so that the ranks finish together.
std::vector<uint32_t> by_length(const LabeledIds& rows) {
  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return rows.length(a) > rows.length(b); });
  return order;
}

}  // namespace

std::vector<int32_t> Predictions::classes() const {
  std::vector<int32_t> best;
  for (size_t i = 0; i < rows(); ++i) best.push_back(int32_t(std::ranges::max_element(row(i)) - row(i).begin()));
  return best;
}

std::vector<double> Predictions::probabilities(size_t i) const {
  const std::span<const double> logits = row(i);
  std::vector<double> shares(logits.begin(), logits.end());
  const double most = *std::max_element(shares.begin(), shares.end());
  for (double& x : shares) x = std::exp(x - most);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& x : shares) x /= sum;
  return shares;
}

bool Predictions::is_finite(size_t i) const {
  return std::ranges::all_of(row(i), [](double x) { return std::isfinite(x); });
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

}  // namespace gyre
