#include "tools/bench/gemm.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/core/io/json.h"
#include "tools/bench/preset_shapes.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/device.h"

namespace gyre {
namespace {

struct ProductLayer {
  std::string preset, name;
  int64_t n, d, o;
};

std::vector<ProductLayer> layers_of(const PresetShape& s) {
  return {{s.preset, "qkv", s.rows(), s.dim, 3 * s.dim},
          {s.preset, "out", s.rows(), s.dim, s.dim},
          {s.preset, "fc1", s.rows(), s.dim, s.ffn},
          {s.preset, "fc2", s.rows(), s.ffn, s.dim},
          {s.preset, "output", s.loss_rows, s.dim, s.vocabulary}};
}

std::vector<ProductLayer> layers_of(const GemmBench& bench) {
  std::vector<ProductLayer> all;
  for (const int64_t n : bench.sizes) all.push_back({"square", std::to_string(n), n, n, n});
  if (!bench.sizes.empty()) return all;
  for (const PresetShape& shape : preset_shapes(bench.preset)) {
    const std::vector<ProductLayer> layers = layers_of(shape);
    all.insert(all.end(), layers.begin(), layers.end());
  }
  return all;
}

double median_seconds(Device device, int repetitions, const std::function<void()>& run) {
  run();
  const int row = runs_per_measurement(device);
  std::vector<double> seconds;
  DeviceWatch watch(device);
  for (int i = 0; i < repetitions; ++i) {
    for (int j = 0; j < row; ++j) run();
    seconds.push_back(watch.lap() / row);
  }
  return median(seconds);
}

// Normal numbers that repeat, because making a billion of them takes a minute. No row length is a multiple of the
// period, so rows differ.
Tensor random_numbers(const Shape& shape, DType dtype, Device device) {
  constexpr int64_t kPeriod = 1'000'003;
  const Tensor period = normal_tensor({kPeriod}, DType::f32, 1, 0).to(dtype), numbers = Tensor::empty(shape, dtype);
  const size_t width = dtype_bytes(dtype);
  for (int64_t i = 0; i < numbers.size(); i += kPeriod) {
    std::memcpy(static_cast<char*>(numbers.raw()) + size_t(i) * width, period.raw(),
                size_t(std::min(kPeriod, numbers.size() - i)) * width);
  }
  return numbers.to(device);
}

GemmRow measure(Kernels& kernels, const ProductLayer& layer, Precision precision, int repetitions) {
  const auto [preset, name, n, d, o] = layer;
  const DType data = precision == Precision::bf16 ? DType::bf16 : DType::f32;
  const Device device = kernels.device();
  const Tensor x = random_numbers({n, d}, data, device), y = random_numbers({n, o}, data, device);
  const Tensor w = random_numbers({o, d}, DType::f32, device);
  const Tensor dx = x.like(), dw = Tensor::zeros(w.shape(), w.dtype(), device);
  GemmRow row{preset, name, concat(n, " x ", d, " x ", o), 2.0 * double(n) * double(d) * double(o), 0, 0, 0};
  row.forward_seconds = median_seconds(device, repetitions, [&] { kernels.linear(y, x, w, {}); });
  row.dinput_seconds = median_seconds(device, repetitions, [&] { kernels.linear_backward(dx, {}, {}, y, x, w, {}); });
  row.dweight_seconds = median_seconds(device, repetitions, [&] { kernels.linear_backward({}, dw, {}, y, x, w, {}); });
  return row;
}

}  // namespace

GemmReport run_gemm_bench(Kernels& kernels, const GemmBench& bench) {
  GemmReport report;
  const ProductLimit limit(kernels.device(), bench.precision);
  double flops = 0, seconds = 0;
  for (const ProductLayer& layer : layers_of(bench)) {
    const GemmRow& row = report.rows.emplace_back(measure(kernels, layer, bench.precision, bench.repetitions));
    flops += 3 * row.flops;
    seconds += row.forward_seconds + row.dinput_seconds + row.dweight_seconds;
  }
  report.flops = flops / seconds;
  report.limit_flops = limit.value();
  return report;
}

Json to_json(const GemmReport& report) {
  Json summary;
  add_rate(summary, report.flops, report.limit_flops);
  return summary;
}

Json rows_json(const GemmReport& report) {
  Json rows = Json::array();
  for (const GemmRow& r : report.rows)
    rows.push_back({{"preset", r.preset},
                    {"layer", r.layer},
                    {"shape", r.shape},
                    {"forward_gflops", rounded(r.flops / r.forward_seconds / 1e9)},
                    {"dinput_gflops", rounded(r.flops / r.dinput_seconds / 1e9)},
                    {"dweight_gflops", rounded(r.flops / r.dweight_seconds / 1e9)}});
  return rows;
}

void print_rows(const GemmReport& report) {
  std::printf("\n%-14s %-11s %-20s %9s %9s %9s %7s  GFLOP/s\n", "preset", "layer", "n x d x o", "forward", "dx", "dw",
              "share");
  for (const GemmRow& r : report.rows) {
    const double all = 3 * r.flops / (r.forward_seconds + r.dinput_seconds + r.dweight_seconds);
    std::printf("%-14s %-11s %-20s %9.1f %9.1f %9.1f %6.1f%%\n", r.preset.c_str(), r.layer.c_str(), r.shape.c_str(),
                r.flops / r.forward_seconds / 1e9, r.flops / r.dinput_seconds / 1e9, r.flops / r.dweight_seconds / 1e9,
                100 * all / report.limit_flops);
  }
}

}  // namespace gyre
