#include "gyre/train/micro_batch_sums.h"

#include "gyre/train/parallel/tree_reduction.h"

namespace gyre {

void LossSums::add(const LossSums& other) {
  loss += other.loss;
  nll += other.nll;
  correct += other.correct;
  tokens += other.tokens;
}

MicroBatchSums::MicroBatchSums(int micro_batches)
    : micro_batches_(size_t(micro_batches)), values_((kFields * micro_batches_) + kFlags) {}

void MicroBatchSums::set_tokens(int micro_batch, int64_t predictions) {
  at(kLosses, micro_batch) = double(predictions);
}

void MicroBatchSums::set_losses(int micro_batch, const CrossEntropySums& sums) {
  at(0, micro_batch) = sums.loss;
  at(1, micro_batch) = sums.nll;
  at(2, micro_batch) = double(sums.correct);
}

void MicroBatchSums::request_stop(StopRequest request) {
  if (request != StopRequest::none) flag(size_t(request)) = 1;
}

StopRequest MicroBatchSums::stop() const {
  for (StopRequest request : {StopRequest::signal, StopRequest::out_of_time}) {
    if (flag(size_t(request)) > 0) return request;
  }
  return StopRequest::none;
}

double MicroBatchSums::field(size_t f) const {
  return tree_sum(std::span<const double>(values_).subspan(f * micro_batches_, micro_batches_));
}

}  // namespace gyre
