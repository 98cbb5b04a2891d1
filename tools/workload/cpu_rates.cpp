#include "tools/workload/cpu_rates.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "gyre/train/log/progress.h"
#include "gyre/train/log/stopwatch.h"
#include "tools/workload/bench_metrics.h"
#include "tools/workload/plan_load.h"

namespace gyre {
namespace {

constexpr int64_t kLargestSize = 2048;  // largest size of a measured product
constexpr size_t kMeasuredProducts = 6;
constexpr int kRuns = 3;
constexpr double kTileFlops = 2.0 * 64 * 64 * 64;  // FLOPs of one of GpuWork::tile_products

// Assumptions: attention reaches this share of the rate of the fastest product, and a thread draws so many random
// numbers per second.
constexpr double kAttentionShare = 0.5;
constexpr double kRandomNumbers = 4e8;

class WorkCounter {
 public:
  void add(const GpuWork& work) {
    switch (work.kind) {
      case GpuWork::Kind::product: {
        products_[{work.rows, work.columns, work.summed}] += work.flops;
        break;
      }
      case GpuWork::Kind::attention:
        sum_.attention_flops += kTileFlops * work.tile_products;
        break;
      case GpuWork::Kind::arithmetic:
        sum_.attention_flops += work.flops;
        break;
      case GpuWork::Kind::pass:
        sum_.bytes += work.bytes;
        break;
      default:
        break;
    }
    sum_.random_numbers += work.random_numbers;
  }

  StepWork result() const {
    StepWork work = sum_;
    for (const auto& [shape, flops] : products_) {
      const auto [rows, columns, summed] = shape;
      work.products.push_back({rows, columns, summed, flops});
    }
    std::stable_sort(work.products.begin(), work.products.end(),
                     [](const auto& a, const auto& b) { return a.flops > b.flops; });
    return work;
  }

 private:
  std::map<std::tuple<int64_t, int64_t, int64_t>, double> products_;
  StepWork sum_;
};

Tensor filled(int64_t rows, int64_t columns, DType dtype) {
  Tensor numbers = Tensor::empty({rows, columns}, DType::f32);
  std::ranges::fill(numbers.span<float>(), 0.5f);
  return numbers.to(dtype);
}

// FLOP/s of a product, with its sizes limited.
double product_rate(const StepWork::Product& product, Precision precision) {
  const auto limited = [](int64_t size) { return std::min(size, kLargestSize); };
  const int64_t rows = limited(product.rows), columns = limited(product.columns), summed = limited(product.summed);
  const DType data = precision == Precision::bf16 ? DType::bf16 : DType::f32;
  const Tensor x = filled(rows, summed, data), y = filled(rows, columns, data);
  const Tensor w = filled(columns, summed, DType::f32);
  std::vector<double> rates;
  for (int run = 0; run <= kRuns; ++run) {
    const Stopwatch watch;
    cpu_kernels().linear(y, x, w, {});
    if (run > 0) rates.push_back(2.0 * double(rows) * double(columns) * double(summed) / watch.seconds());
  }
  return median(std::move(rates));
}

}  // namespace

StepWork count_work(const Workload& work, Precision precision) {
  WorkCounter counter;
  double flops = 0;
  {
    const GpuWorkScope scope([&](const GpuWork& done) { counter.add(done); });
    flops = run_step(work, virtual_kernels(), precision, nullptr);
  }
  StepWork counted = counter.result();
  counted.model_flops = flops;
  return counted;
}

double predict_cpu_flops(const StepWork& work, Precision precision, double memory) {
  double seconds = 0, measured = 0, all = 0, best = 0;
  WorkProgress progress("matrix products", int64_t(std::min(kMeasuredProducts, work.products.size())));
  for (size_t i = 0; i < work.products.size(); ++i) {
    all += work.products[i].flops;
    if (i >= kMeasuredProducts) continue;
    progress.show(int64_t(i));
    const double rate = product_rate(work.products[i], precision);
    seconds += work.products[i].flops / rate;
    measured += work.products[i].flops;
    best = std::max(best, rate);
  }
  if (measured > 0) seconds *= all / measured;  // the other products are as fast as these on average
  seconds += work.attention_flops / (kAttentionShare * best);
  seconds += work.bytes / memory;
  seconds += work.random_numbers / (kRandomNumbers * threads());
  return work.model_flops / seconds;
}

}  // namespace gyre
