#include "tools/workload/training_load.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "gyre/core/clock.h"
#include "gyre/core/hardware/machine_limits.h"
#include "gyre/core/kernels/arguments.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "gyre/train/log/console.h"
#include "gyre/train/optim/update_plan.h"
#include "gyre/train/optim/update_rule.h"
#include "tools/command_line/messages.h"
#include "tools/summary.h"
#include "tools/workload/plan.h"
#include "tools/workload/workload.h"

namespace gyre {
namespace {

// ---- The rate of training steps ------------------------------------------------------------------------------------
// Predicts the rate of training steps on the CPU of this machine without running the model: from the work that the
// virtual GPU counts (core/virtual_gpu/virtual_gpu.h), a few measured matrix products and the memory bandwidth.

// Work of forward and backward of a batch.
struct StepWork {
  struct Product {
    int64_t rows = 0, columns = 0, summed = 0;
    double flops = 0;  // FLOPs of all products of this shape
  };
  std::vector<Product> products;  // products by shape, in decreasing order of FLOPs
  double model_flops = 0;         // FLOPs of the model (kTrainingFlopsFactor), to which the rate refers
  double attention_flops = 0;     // FLOPs of products within attention that are not in `products`
  double bytes = 0;               // read and written by passes over tensors
  double random_numbers = 0;      // drawn for dropout
};

constexpr int64_t kLargestSize = 2048;  // limit of a measured product

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

// Counts the work of the batch that was drawn last. `work` has its parameters on the virtual GPU.
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

// The FLOP/s of the model in training steps with all threads. Measures the products with the most FLOPs, at sizes up to
// 2048, for about a second. memory: the bandwidth in bytes/s.
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

constexpr int64_t kSampleTokens = 2048;  // tokens of the measured batch, on all sides

// Number of tokens in a global batch, over all sides that pass through the model.
double batch_tokens(const TrainOptions& o, double tokens_of_item, double sides) {
  if (o.batch.unit == BatchUnit::sentences) return double(o.batch.size) * tokens_of_item;
  return double(o.batch.size) * (o.batch.unit == BatchUnit::total_tokens ? 1 : sides);
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
  const Precision precision = precision_on(kernels, options.device.precision);
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
