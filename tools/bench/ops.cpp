#include "tools/bench/ops.h"

#include <cstdio>

#include "autograd/gradcheck.h"
#include "core/machine_limits.h"
#include "tools/bench/figures.h"
#include "train/stopwatch.h"

namespace gyre {
namespace {

constexpr double kForwardAndBackward = 3;  // times the FLOPs of forward

// The inputs, with random values (a pass of the optimizer gets positive ones).
class Inputs {
 public:
  Inputs(const OpBench& bench, DType data) {
    for (size_t i = 0; i < bench.inputs.size(); ++i)
      store_.add(std::to_string(i), bench.inputs[i].shape, bench.pass ? Init::constant(0.1) : Init::normal(0.1));
    store_.allocate(1);
    for (size_t i = 0; i < bench.inputs.size(); ++i) {
      parameter_.push_back(bench.inputs[i].parameter);
      tensors_.push_back(parameter_.back() ? store_[i].value : store_[i].value.to(data));
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

OpRow measure_op(const OpBench& bench, Precision precision, int repetitions) {
  const DType data = precision == Precision::bf16 ? DType::bf16 : DType::f32;
  Inputs inputs(bench, data);
  Tensor cotangent;
  std::vector<double> forward, backward;
  double flops = 0;
  for (int i = 0; i <= repetitions; ++i) {
    Tape tape(
        cpu_kernels(),
        {.record = true, .training = true, .seed = uint64_t(i), .precision = precision, .unit_cotangent = bench.loss});
    const std::vector<Var> vars = inputs.on(tape);
    Stopwatch watch;
    const Var output = bench.run(tape, vars);
    const double forward_seconds = watch.lap();
    if (!cotangent && !bench.loss)
      cotangent = normal_tensor(output.shape(), DType::f32, 1, 0).to(output.value().dtype());
    watch.lap();
    tape.backward(output, cotangent);
    const double backward_seconds = watch.lap();
    flops = tape.flops();
    if (i == 0) continue;  // warm-up
    forward.push_back(forward_seconds);
    backward.push_back(backward_seconds);
  }
  const bool product = bench.data + bench.parameters == 0;
  return {
      bench.preset,
      bench.op,
      bench.shape,
      median(forward),
      median(backward),
      product ? kForwardAndBackward * flops : bench.data * double(dtype_bytes(data)) + bench.parameters * sizeof(float),
      product};
}

OpRow measure_pass(const OpBench& bench, int repetitions) {
  const Inputs inputs(bench, DType::f32);
  std::vector<double> seconds;
  bench.pass(inputs.tensors());
  for (int i = 0; i < repetitions; ++i) {
    const Stopwatch watch;
    bench.pass(inputs.tensors());
    seconds.push_back(watch.seconds());
  }
  return {bench.preset, bench.op, bench.shape, median(seconds), 0, bench.parameters * sizeof(float), false};
}

double seconds(const OpRow& row) { return row.forward_seconds + row.backward_seconds; }

// Work a second of all products, or of all that is bound by memory.
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

OpReport run_op_bench(const std::string& preset, Precision precision, int repetitions) {
  OpReport report;
  const auto measure_limits = [&] {
    report.limit_flops = std::max(report.limit_flops, measure_products(precision, threads()));
    report.limit_bytes = std::max(report.limit_bytes, measure_memory_bandwidth(threads()));
  };
  measure_limits();
  for (const PresetShape& shape : preset_shapes(preset))
    for (const OpBench& bench : op_benches(shape))
      report.rows.push_back(bench.pass ? measure_pass(bench, repetitions) : measure_op(bench, precision, repetitions));
  measure_limits();
  return report;
}

nlohmann::ordered_json to_json(const OpReport& report) {
  nlohmann::ordered_json facts;
  add_rate(facts, rate_of_all(report, true), report.limit_flops);
  const double bytes = rate_of_all(report, false);
  facts["gbytes"] = rounded(bytes / 1e9);
  facts["limit_gbytes"] = rounded(report.limit_bytes / 1e9);
  facts["memory_share"] = rounded(bytes / report.limit_bytes);
  return facts;
}

nlohmann::ordered_json rows_json(const OpReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
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
