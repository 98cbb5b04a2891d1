#include "tools/bench/ops.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/core/io/json.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/device.h"

namespace gyre {
namespace {

// The inputs of an op with random values. The passes of the optimizer get positive constants.
class Inputs {
 public:
  Inputs(const OpBench& bench, DType data, Device device) {
    for (size_t i = 0; i < bench.inputs.size(); ++i)
      store_.add(std::to_string(i), bench.inputs[i].shape, bench.pass ? Init::constant(0.1) : Init::normal(0.1));
    store_.allocate(1, DType::f32, device);
    for (size_t i = 0; i < bench.inputs.size(); ++i) {
      parameter_.push_back(bench.inputs[i].parameter);
      const Tensor& value = store_[i].value;
      tensors_.push_back(parameter_.back() ? value : value.to_cpu().to(data).to(device));
    }
  }

  std::vector<Var> on(Tape& tape) {
    std::vector<Var> vars;
    for (size_t i = 0; i < tensors_.size(); ++i)
      vars.push_back(parameter_[i] ? tape.parameter(store_[i]) : tape.leaf(tensors_[i]));
    return vars;
  }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  Parameters store_;
  std::vector<Tensor> tensors_;
  std::vector<bool> parameter_;
};

OpRow measure_op(Kernels& kernels, const OpBench& bench, Precision precision, int repetitions) {
  const Device device = kernels.device();
  const int row = runs_per_measurement(device);
  const DType data = precision == Precision::bf16 ? DType::bf16 : DType::f32;
  Inputs inputs(bench, data, device);
  Tensor cotangent;
  std::vector<double> forward, backward;
  double flops = 0;
  for (int i = 0; i <= repetitions; ++i) {
    const Tape::Options options{
        .record = true, .training = true, .seed = uint64_t(i), .precision = precision, .loss_seeded = bench.loss};
    std::deque<Tape> tapes;
    std::vector<std::vector<Var>> vars;
    for (int j = 0; j < row; ++j) vars.push_back(inputs.on(tapes.emplace_back(kernels, options)));
    std::vector<Var> outputs;
    DeviceWatch watch(device);
    for (int j = 0; j < row; ++j) outputs.push_back(bench.run(tapes[size_t(j)], vars[size_t(j)]));
    const double forward_seconds = watch.lap() / row;
    const Tensor& output = outputs[0].value();
    if (!cotangent && !bench.loss)
      cotangent = normal_tensor(output.shape(), DType::f32, 1, 0).to(output.dtype()).to(device);
    watch.lap();
    for (int j = 0; j < row; ++j) tapes[size_t(j)].backward(outputs[size_t(j)], cotangent);
    const double backward_seconds = watch.lap() / row;
    flops = tapes[0].flops();
    if (i == 0) continue;  // warm-up
    forward.push_back(forward_seconds);
    backward.push_back(backward_seconds);
  }
  const bool product = bench.data + bench.parameters == 0;
  return {bench.preset,
          bench.op,
          bench.shape,
          median(forward),
          median(backward),
          product ? kTrainingFlopsFactor * flops
                  : bench.data * double(dtype_bytes(data)) + bench.parameters * sizeof(float),
          product};
}

OpRow measure_pass(Kernels& kernels, const OpBench& bench, int repetitions) {
  const Device device = kernels.device();
  const int row = runs_per_measurement(device);
  const Inputs inputs(bench, DType::f32, device);
  std::vector<double> seconds;
  bench.pass(kernels, inputs.tensors());
  DeviceWatch watch(device);
  for (int i = 0; i < repetitions; ++i) {
    for (int j = 0; j < row; ++j) bench.pass(kernels, inputs.tensors());
    seconds.push_back(watch.lap() / row);
  }
  return {bench.preset, bench.op, bench.shape, median(seconds), 0, bench.parameters * sizeof(float), false};
}

double seconds(const OpRow& row) { return row.forward_seconds + row.backward_seconds; }

// Work per second of all products, or of all memory-bound ops.
double rate_of_all(const OpReport& report, bool products) {
  double work = 0, time = 0;
  for (const OpRow& row : report.rows) {
    if (row.product != products) continue;
    work += row.work;
    time += seconds(row);
  }
  return work / time;
}

double share(const OpReport& report, const OpRow& row) {
  return row.work / seconds(row) / (row.product ? report.limit_flops : report.limit_bytes);
}

}  // namespace

OpReport run_op_bench(Kernels& kernels, const std::string& preset, Precision precision, int repetitions) {
  OpReport report;
  const ProductLimit limit(kernels.device(), precision);
  const double bytes_at_start = bandwidth_limit(kernels.device());
  for (const PresetShape& shape : preset_shapes(preset))
    for (const OpBench& bench : op_benches(shape))
      report.rows.push_back(bench.pass ? measure_pass(kernels, bench, repetitions)
                                       : measure_op(kernels, bench, precision, repetitions));
  report.limit_flops = limit.value();
  report.limit_bytes = std::max(bytes_at_start, bandwidth_limit(kernels.device()));
  return report;
}

Json to_json(const OpReport& report) {
  Json summary;
  add_rate(summary, rate_of_all(report, true), report.limit_flops);
  const double bytes = rate_of_all(report, false);
  summary["gbytes"] = rounded(bytes / 1e9);
  summary["limit_gbytes"] = rounded(report.limit_bytes / 1e9);
  summary["memory_share"] = rounded(bytes / report.limit_bytes);
  return summary;
}

Json rows_json(const OpReport& report) {
  Json rows = Json::array();
  for (const OpRow& r : report.rows)
    rows.push_back({{"preset", r.preset},
                    {"op", r.op},
                    {"shape", r.shape},
                    {"forward_ms", rounded(1e3 * r.forward_seconds)},
                    {"backward_ms", rounded(1e3 * r.backward_seconds)},
                    {r.product ? "gflops" : "gbytes", rounded(r.work / seconds(r) / 1e9)},
                    {"share", rounded(share(report, r))}});
  return rows;
}

void print_rows(const OpReport& report) {
  std::printf("\n%-14s %-22s %-21s %11s %12s %16s %7s\n", "preset", "op", "shape", "forward ms", "backward ms", "rate",
              "share");
  for (const OpRow& r : report.rows)
    std::printf("%-14s %-22s %-21s %11.3f %12.3f %8.1f %s %6.1f%%\n", r.preset.c_str(), r.op.c_str(), r.shape.c_str(),
                1e3 * r.forward_seconds, 1e3 * r.backward_seconds, r.work / seconds(r) / 1e9,
                r.product ? "GFLOP/s" : "GB/s   ", 100 * share(report, r));
}

}  // namespace gyre
