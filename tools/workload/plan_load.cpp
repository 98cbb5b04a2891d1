#include "tools/workload/plan_load.h"

#include <algorithm>

#include "gyre/core/hardware/machine_limits.h"
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

// Runs forward and backward and returns the FLOPs of both.
double run(const Workload& work, Kernels& kernels, Precision precision, TapeObserver* observer) {
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

}  // namespace

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
  load.flops_per_token = run(work, kernels, precision, &last) / double(tokens);
  load.activations_per_token = (double(tensor_memory(kernels.device()).peak_bytes) - before) / double(tokens);
  load.parameters = parameters.values().size();
  load.last_parameters = last.elements();
  for (const Parameter& p : parameters) load.largest_parameter = std::max(load.largest_parameter, p.shape.elements());
  for (Parameter& p : parameters) p.sparse_gradients = nullptr;
  parameters.gradients().zero();
  return load;
}

PlanRates measure_rates(const Workload& work, Parameters& parameters, Kernels& kernels, Precision precision) {
  std::vector<double> rates;
  for (int i = 0; i < kSteps; ++i) {
    const Stopwatch watch;
    const double flops = run(work, kernels, precision, nullptr);
    rates.push_back(flops / watch.seconds());
  }
  parameters.gradients().zero();
  PlanRates measured;
  measured.flops = median(rates);
  measured.memory = measure_memory_bandwidth(threads());
  return measured;
}

}  // namespace gyre
