#include "tools/workload/training_load.h"

#include <algorithm>
#include <memory>

#include "gyre/core/hardware/machine_limits.h"
#include "gyre/train/optim/newton_schulz.h"
#include "gyre/train/optim/parameter_groups.h"
#include "gyre/train/optim/update_plan.h"
#include "gyre/train/optim/update_rule.h"
#include "tools/command_line/messages.h"
#include "tools/workload/cpu_rates.h"
#include "tools/workload/plan_load.h"

namespace gyre {
namespace {

constexpr int64_t kSampleTokens = 2048;  // tokens of the measured batch, on all sides

// Number of tokens in a global batch, over all sides that pass through the model.
double batch_tokens(const TrainOptions& o, double tokens_of_item, double sides) {
  if (o.batch.unit == "sentences") return double(o.batch.size) * tokens_of_item;
  return double(o.batch.size) * (o.batch.unit == "total" ? 1 : sides);
}

void add_optimizer(PlanLoad& load, const Parameters& parameters, const OptimizerOptions& options, Device device) {
  const std::unique_ptr<UpdateRule> rule = make_update_rule(options);
  double whole = 0;  // elements
  for (const Parameter& p : parameters) {
    if (!rule->updates_matrices() || !is_updated_whole(p)) continue;
    whole += double(p.shape.elements());
    load.optimizer_flops += orthogonalization_flops(p, options.precision, device);
  }
  const double all = double(load.parameters);
  if (options.ema > 0) load.state_elements += all;
  for (const Slot& slot : rule->slots()) {
    if (slot.covers == Slot::Covers::elements) load.state_elements += all - whole;
    if (slot.covers == Slot::Covers::matrices) load.state_elements += whole;  // the elements of row states are few
  }
}

}  // namespace

int measured_items(double item_tokens) { return std::max(1, int(double(kSampleTokens) / item_tokens)); }

PlanLoad training_load(Workload& work, const TrainOptions& options, Kernels& kernels, Device device,
                       Precision precision, double item_tokens, double sides) {
  require_countable(work.parameters());
  freeze(work.parameters(), options.optimizer.frozen);
  work.set_recompute(options.device.recompute);
  const int64_t tokens = work.draw(0);
  PlanLoad load = measure_load(work, work.parameters(), kernels, precision, tokens, !options.parallel.deterministic);
  load.tokens = batch_tokens(options, item_tokens, sides);
  load.item_tokens = item_tokens;
  add_optimizer(load, work.parameters(), in_precision(options.optimizer, precision), device);
  load.bucket_bytes = options.parallel.bucket_mb_on(device) * kMebibyte;
  load.parallel = options.parallel;
  return load;
}

MachineLoad machine_load(const MakeBatch& make, const TrainOptions& options, double item_tokens, double sides,
                         const PlanRates& given) {
  Kernels& kernels = kernels_on(parse_device(options.device.name, 0));
  const Precision precision = parse_precision(options.device.precision, kernels);
  const bool on_cpu = kernels.device() == Device{};
  Kernels& counting = on_cpu ? virtual_kernels() : kernels;
  if (on_cpu) reset_virtual_memory();  // the peak is then that of the batch
  const std::unique_ptr<Workload> work = make(measured_items(item_tokens), counting.device());
  MachineLoad result;
  result.load = training_load(*work, options, counting, kernels.device(), precision, item_tokens, sides);
  result.rates = given;
  if (given.flops > 0 && given.memory > 0) return result;
  print_message(concat("note: ", on_cpu ? "matrix products" : "steps of the model",
                       " and the memory bandwidth of this ",
                       "machine are measured, for seconds; --gflops and --memory-gb replace them"));
  if (given.memory == 0) result.rates.memory = measure_memory_bandwidth(threads());
  if (given.flops == 0) {
    result.rates.flops = on_cpu ? predict_cpu_flops(count_work(*work, precision), precision, result.rates.memory)
                                : measure_step_flops(*work, kernels, precision);
  }
  return result;
}

const GpuModel* planned_gpu(const std::string& device) {
  if (const GpuModel* const kind = find_gpu_model(device)) return kind;
  try {
    parse_device(device, 0);
  } catch (const UsageError&) {
    std::string kinds;
    for (const std::string& name : gpu_model_names()) kinds += name + ", ";
    throw UsageError("[--device] expected a kind of GPU (", kinds.substr(0, kinds.size() - 2),
                     "), cpu, cuda or cuda:N, got '", device, "'");
  }
  return nullptr;
}

}  // namespace gyre
