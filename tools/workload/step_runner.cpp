#include "tools/workload/step_runner.h"

#include <utility>

#include "tools/workload/device.h"

namespace gyre {
namespace {

ReducerOptions one_micro_batch_per_rank(ReducerOptions options, const Communicator& ranks) {
  options.micro_batches = ranks.size();
  return options;
}

}  // namespace

StepRunner::StepRunner(Workload& work, Kernels& kernels, Precision precision, Communicator& ranks,
                       const ReducerOptions& options)
    : work_(work),
      kernels_(kernels),
      precision_(precision),
      ranks_(ranks),
      reducer_(ranks, kernels, work.parameters(), one_micro_batch_per_rank(options, ranks)),
      optimizer_(work.parameters(), kernels, in_precision(work.optimizer(), precision), &reducer_) {}

StepCost StepRunner::run(uint64_t number) {
  DeviceWatch watch(kernels_.device());
  StepCost cost = queue(number);
  finish();
  cost.seconds = watch.lap();
  return cost;
}

StepCost StepRunner::queue(uint64_t number) {
  if (timeline_) timeline_->restart();
  const uint64_t own = number * uint64_t(ranks_.size()) + uint64_t(ranks_.rank());
  const int64_t tokens = work_.draw(own);
  mark("make the batch");
  double predictions = 0;
  const double flops = forward_and_backward(own, predictions);
  mark(Timeline::kOther);  // freeing the tape
  reducer_.finish();
  ranks_.all_reduce(std::span<double>(&predictions, 1));
  if (ranks_.size() > 1) mark("wait for ranks");
  finish();  // the figures of the previous step have arrived by now
  optimizer_.start_update(predictions);
  started_ = true;
  mark(kOptimizerSpan);
  return {0, kTrainingFlopsFactor * flops, tokens};
}

void StepRunner::finish() {
  if (std::exchange(started_, false)) optimizer_.finish_update();
}

double StepRunner::forward_and_backward(uint64_t seed, double& predictions) {
  TapeObserver* const reducer = reducer_.begin_micro_batch();
  Tape tape(kernels_, {.record = true,
                       .training = true,
                       .seed = seed,
                       .precision = precision_,
                       .loss_seeded = true,
                       .parameters = &work_.parameters(),
                       .recompute = work_.recompute()});
  if (timeline_) tape.add_observer(*timeline_);
  const LossResult result = work_.loss(tape);
  predictions = double(result.predictions);
  if (reducer != nullptr) tape.add_observer(*reducer);
  tape.backward(result.loss);
  reducer_.end_micro_batch();
  return tape.flops();
}

void StepRunner::mark(std::string_view name) {
  if (timeline_) timeline_->mark(name);
}

}  // namespace gyre
