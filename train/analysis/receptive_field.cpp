#include "gyre/train/analysis/receptive_field.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "gyre/train/tasks/inputs.h"

namespace gyre {
namespace {

// Keeps the gradient of the embeddings during backward: they are not leaves of the tape, so backward frees it. A
// constant factor of the embeddings cancels in the shares.
class EmbeddingGradient final : public TapeObserver {
 public:
  void before_backward(const Tape& tape, int number) override {
    const Node& node = tape.nodes()[size_t(number)];
    if (node.name() != "embedding") return;
    const Parameter* table = tape.nodes()[size_t(node.inputs[0])].parameter;
    if (table && table->is_table) gradient_ = node.gradient;  // tables of other lookups are positions
  }
  const Tensor& gradient() const { return gradient_; }  // (n, dim)

 private:
  Tensor gradient_;
};

// The cross-entropy -log p of the most likely next token after the last row. Its gradient differs from that of log p
// only in sign.
Var likeliest_next(const EncoderOnly& model, const Var& states) {
  const Var logits = model.logits(gather_rows(states, to_tensor(std::vector{int32_t(states.shape()[0] - 1)})));
  const std::vector<float> values = logits.value().to_cpu().to_vector<float>();
  const auto best = int32_t(std::max_element(values.begin(), values.end()) - values.begin());
  return cross_entropy(logits, to_tensor(std::vector{best})).loss;
}

double row_norm(const float* row, int64_t width) {
  return std::sqrt(std::inner_product(row, row + width, row, 0.0, std::plus<>(),
                                      [](float a, float b) { return double(a) * double(b); }));
}

}  // namespace

std::vector<double> gradient_shares(const EncoderOnly& model, Kernels& kernels, const std::vector<int32_t>& ids) {
  require(model.config().causal, "[receptive field] expected a causal language model, got a bidirectional one");
  require(!ids.empty() && int64_t(ids.size()) <= model.longest(), "[receptive field] ",
          model.config().position.encoding, " has positions for 1 to ", model.longest(), " tokens, got ", ids.size());
  Tape tape(kernels, {});
  EmbeddingGradient embeddings;
  tape.add_observer(embeddings);
  tape.backward(
      likeliest_next(model, model.encode(tape, to_tensor(ids), Segments::from_lengths({int32_t(ids.size())}))));
  const Tensor gradient = embeddings.gradient().to_cpu();
  std::vector<double> shares;
  for (int64_t row = gradient.rows() - 1; row >= 0; --row)
    shares.push_back(row_norm(gradient.data<float>() + row * gradient.cols(), gradient.cols()));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  require(std::isfinite(sum) && sum > 0,
          "[receptive field] expected a gradient of the last token, got norms that sum to ", sum);
  for (double& share : shares) share /= sum;
  return shares;
}

std::vector<double> cumulative_shares(const std::vector<double>& shares) {
  std::vector<double> sums(shares.size());
  std::partial_sum(shares.begin(), shares.end(), sums.begin());
  return sums;
}

int64_t distance_reaching(double share, const std::vector<double>& cumulative) {
  const auto found = std::lower_bound(cumulative.begin(), cumulative.end(), share);
  require(found != cumulative.end(), "[receptive field] expected shares that reach ", share, ", got ",
          cumulative.empty() ? 0.0 : cumulative.back());
  return found - cumulative.begin();
}

}  // namespace gyre
