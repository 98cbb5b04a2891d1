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
    : micro_batches_(size_t(micro_batches)), values_(kFields * micro_batches_ + size_t(Flag::count)) {}

void MicroBatchSums::set_tokens(int micro_batch, int64_t predictions) {
  at(kLosses, micro_batch) = double(predictions);
}

void MicroBatchSums::set_losses(int micro_batch, const CrossEntropySums& sums) {
  at(0, micro_batch) = sums.loss;
  at(1, micro_batch) = sums.nll;
  at(2, micro_batch) = double(sums.correct);
}

void MicroBatchSums::request_stop(StopRequest request) {
  if (request == StopRequest::signal) flag(Flag::stopped_by_signal) = 1;
  if (request == StopRequest::out_of_time) flag(Flag::out_of_time) = 1;
}

StopRequest MicroBatchSums::stop() const {
  if (flag(Flag::stopped_by_signal) > 0) return StopRequest::signal;
  return flag(Flag::out_of_time) > 0 ? StopRequest::out_of_time : StopRequest::none;
}

double MicroBatchSums::field(size_t f) const {
  return tree_sum(std::span<const double>(values_).subspan(f * micro_batches_, micro_batches_));
}

}  // namespace gyre
