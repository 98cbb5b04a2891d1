#include "tools/commands/data/check_cost.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gyre/core/counted.h"
#include "gyre/core/kernels/kernels.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/gpu/gpu_plan_report.h"
#include "tools/workload/training_load.h"

namespace gyre {

namespace {

constexpr double kMega = 1e6;

std::string gigabytes(double bytes) {
  char text[32];
  const bool is_small = bytes < 0.1 * kGiga;
  std::snprintf(text, sizeof text, is_small ? "%.1f MB" : "%.2f GB", bytes / (is_small ? kMega : kGiga));
  return text;
}

std::string duration(double seconds) {
  char text[32];
  if (seconds < 60) {
    std::snprintf(text, sizeof text, "%.3g s", seconds);
  } else if (seconds < 3600) {
    std::snprintf(text, sizeof text, "%.3g minutes", seconds / 60);
  } else {
    std::snprintf(text, sizeof text, "%.4g hours", seconds / 3600);
  }
  return text;
}

double machine_memory() { return double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE)); }

Finding gpu_memory(const GpuPlanRow& row, const GpuModel& model, const ParallelOptions& options) {
  return {row.fits() ? Severity::ok : Severity::error,
          "memory",
          concat(gigabytes(row.plan.memory()), " of the ", gigabytes(model.memory), " of an ", model.name,
                 "; fits: ", fitting_text(row, options)),
          {}};
}

Finding cpu_memory(const PlanRow& row) {
  const double limit = machine_memory();
  return {row.memory() <= limit ? Severity::ok : Severity::error,
          "memory",
          concat(gigabytes(row.memory()), " per rank; this machine has ", gigabytes(limit)),
          {}};
}

}  // namespace

RunCost run_cost(const NmtOptions& options, const EncoderDecoderConfig& config, const Epoch& epoch, int ranks) {
  const GpuModel* const gpu = planned_gpu(options.device.name);
  const int length = std::max(2, int(std::lround(epoch.sentence_length)));
  const auto make = [&](int items, Device device) {
    return translation_workload(config, items, length, {device}, options.r_drop);
  };
  RunCost cost;
  cost.ranks = ranks;
  PlanRow row;
  if (gpu) {
    const Precision precision = parse_precision(options.device.precision, virtual_kernels());
    std::unique_ptr<Workload> work = make(measured_items(2.0 * length), kVirtualGpu);
    const PlanLoad load = training_load(*work, options, virtual_kernels(), kVirtualGpu, precision, 2.0 * length, 2);
    work.reset();  // plan_gpus() needs all memory of the virtual GPU
    const GpuPlanRow planned =
        plan_gpus({load, make, options.optimizer, precision, Scaling::strong}, *gpu, {ranks}).front();
    row = planned.plan;
    cost.where = concat("predicted for ", ranks, " x ", gpu->name);
    cost.findings.push_back(gpu_memory(planned, *gpu, options.parallel));
  } else {
    const MachineLoad machine = machine_load(make, options, 2.0 * length, 2, PlanRates());
    row = plan_step(machine.load, machine.rates, ranks, Scaling::strong);
    cost.where = concat("predicted for ", counted(uint64_t(ranks), "rank"), " of ",
                        counted(uint64_t(threads()), "thread"), " of this machine");
    if (parse_device(options.device.name, 0) == Device{}) cost.findings.push_back(cpu_memory(row));
  }
  cost.memory_bytes = row.memory();
  cost.update_seconds = row.step();
  cost.epoch_seconds = row.step() * double(epoch.updates);
  cost.run_seconds = row.step() * double(options.stop.after.in_updates(epoch.updates));
  std::string text = concat(duration(cost.update_seconds), " per update and ", duration(cost.epoch_seconds),
                            " per epoch, ", cost.where);
  if (cost.run_seconds > 0)
    text += concat("; ", duration(cost.run_seconds), " for --after ", options.stop.after.text());
  cost.findings.push_back({Severity::ok, "time", std::move(text), {}});
  return cost;
}

}  // namespace gyre
