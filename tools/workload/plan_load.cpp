#include "tools/workload/plan_load.h"

#include <algorithm>

#include "gyre/train/log/stopwatch.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/device.h"

namespace gyre {
namespace {

constexpr int kSteps = 3;

// Counts the parameter elements whose gradients become final after the last matrix product of backward.
class LastParameters final : public TapeObserver {
 public:
  void before_backward(const Tape& tape, int node) override {
    if (tape.nodes()[size_t(node)].op->flops() > 0) elements_ = 0;
  }
  void on_parameter_ready(Parameter& p) override { elements_ += p.shape.elements(); }
  int64_t elements() const { return elements_; }

 private:
  int64_t elements_ = 0;
};

}  // namespace

double run_step(const Workload& work, Kernels& kernels, Precision precision, TapeObserver* observer) {
  Tape tape(kernels, {.record = true,
                      .training = true,
                      .seed = 1,
                      .precision = precision,
                      .loss_seeded = true,
                      .recompute = work.recompute()});
  const LossResult result = work.loss(tape);
  if (observer != nullptr) tape.add_observer(*observer);
  tape.backward(result.loss);
  return kTrainingFlopsFactor * tape.flops();
}

PlanLoad measure_load(const Workload& work, Parameters& parameters, Kernels& kernels, Precision precision,
                      int64_t tokens, bool sparse_rows) {
  PlanLoad load;
  LastParameters last;
  std::vector<SparseGradient> rows;
  for (Parameter& p : parameters) {
    if (!p.is_table || !sparse_rows) continue;
    load.tables.push_back({p.shape[0], p.shape[1]});
    p.sparse_gradients = &rows;
  }
  const double before = double(tensor_memory(kernels.device()).active_bytes);
  load.flops_per_token = run_step(work, kernels, precision, &last) / double(tokens);
  load.activations_per_token = (double(tensor_memory(kernels.device()).peak_bytes) - before) / double(tokens);
  load.parameters = parameters.values().size();
  load.last_parameters = last.elements();
  for (const Parameter& p : parameters) load.largest_parameter = std::max(load.largest_parameter, p.shape.elements());
  for (Parameter& p : parameters) p.sparse_gradients = nullptr;
  parameters.gradients().zero();
  return load;
}

double measure_step_flops(const Workload& work, Kernels& kernels, Precision precision) {
  std::vector<double> rates;
  for (int i = 0; i < kSteps; ++i) {
    const Stopwatch watch;
    const double flops = run_step(work, kernels, precision, nullptr);
    rates.push_back(flops / watch.seconds());
  }
  return median(rates);
}

}  // namespace gyre
