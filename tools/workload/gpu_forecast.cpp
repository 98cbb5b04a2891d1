#include "tools/workload/gpu_forecast.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/error.h"
#include "gyre/core/hardware/gpu_peaks.h"
#include "gyre/train/optim/optimizer.h"
#include "tools/summary.h"
#include "tools/workload/device.h"
#include "tools/workload/step_runner.h"

namespace gyre {

namespace {

constexpr double kTera = 1e12;

GpuModel with_peaks(GpuModel model) {
  const GpuPeaks* const peaks = find_gpu_peaks(model.device);
  require(peaks != nullptr, "[gpu model] no peaks of ", model.device);
  model.bf16_peak = peaks->bf16;
  model.tf32_peak = peaks->tf32;
  model.fp32_peak = peaks->fp32;
  return model;
}

// The peaks, the bandwidths, the memory and the links are those of NVIDIA's data sheets of the SXM modules (dense
// products; one direction of NVLink). bf16_products and copy_bandwidth of the H100 are measured (results.md), those of
// the others assumed: 80 to 88 % of the peaks.
const std::vector<GpuModel>& models() {
  static const std::vector<GpuModel> all{with_peaks({.name = "h200",
                                                     .device = "H200",
                                                     .bf16_products = 790 * kTera,
                                                     .copy_bandwidth = 4200 * kGiga,
                                                     .peak_bandwidth = 4800 * kGiga,
                                                     .memory = 141 * kGiga,
                                                     .multiprocessors = 132,
                                                     .node_link = 450 * kGiga,
                                                     .network = 50 * kGiga}),
                                         with_peaks({.name = "h100",
                                                     .device = "H100",
                                                     .rates = "measured",
                                                     .bf16_products = 780 * kTera,
                                                     .copy_bandwidth = 3000 * kGiga,
                                                     .peak_bandwidth = 3350 * kGiga,
                                                     .memory = 80 * kGiga,
                                                     .multiprocessors = 132,
                                                     .node_link = 450 * kGiga,
                                                     .network = 50 * kGiga}),
                                         with_peaks({.name = "a100",
                                                     .device = "A100",
                                                     .bf16_products = 260 * kTera,
                                                     .copy_bandwidth = 1750 * kGiga,
                                                     .peak_bandwidth = 2039 * kGiga,
                                                     .memory = 80 * kGiga,
                                                     .multiprocessors = 108,
                                                     .node_link = 300 * kGiga,
                                                     .network = 25 * kGiga,
                                                     .random_numbers = 0.45e12,
                                                     .attention_product = 1.9e-6})};
  return all;
}

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

double GpuModel::products(Precision precision) const {
  const double share = bf16_products / bf16_peak;
  if (precision == Precision::bf16) return bf16_products;
  return share * (precision == Precision::tf32 ? tf32_peak : fp32_peak);
}

GpuModel::ProductShape GpuModel::product_shape(int64_t m, int64_t n, int64_t k) const {
  struct Tile {
    int64_t rows, columns;
    double share;  // smaller tiles read their operands more often
  };
  constexpr Tile kTiles[] = {{128, 256, 1}, {256, 128, 1}, {128, 128, 0.9}};
  constexpr int64_t kShortestSum = 512;
  ProductShape best;
  for (const Tile& tile : kTiles) {
    const int64_t tiles = divide_up(m, tile.rows) * divide_up(n, tile.columns);
    const int64_t splits = std::clamp<int64_t>(multiprocessors / tiles, 1, std::max<int64_t>(1, k / kShortestSum));
    const int64_t waves = divide_up(tiles * splits, multiprocessors);
    const double used =
        double(m) * double(n) * double(splits) / (double(waves * multiprocessors) * double(tile.rows * tile.columns));
    const double depth = double(k) / double(splits);
    const double share = tile.share * used * depth / (depth + product_depth);
    if (share > best.share) best = {share, splits};
  }
  return best;
}

double GpuModel::seconds(const GpuWork& work) const {
  double seconds = work.bytes / pass_bandwidth();
  switch (work.kind) {
    case GpuWork::Kind::readback:
    case GpuWork::Kind::wait:
      return 0;
    case GpuWork::Kind::pass:
      seconds = std::max(seconds, work.random_numbers / random_numbers);
      break;
    case GpuWork::Kind::product: {
      const ProductShape shape = product_shape(work.rows, work.columns, work.summed);
      const double parts = shape.splits > 1 ? 2 * 4 * double(shape.splits) : 0;  // fp32 sums, written and read
      seconds += parts * double(work.rows) * double(work.columns) / pass_bandwidth();
      seconds = std::max(seconds, work.flops / (shape.share * products(work.precision)));
      break;
    }
    case GpuWork::Kind::attention: {
      const double resident = multiprocessors * work.resident_blocks;
      const double waves = std::max(1.0, work.blocks / resident);
      const double products = work.tile_products / work.blocks * attention_product;
      seconds = std::max({seconds, work.random_numbers / random_numbers, waves * (attention_block + products)});
      break;
    }
    case GpuWork::Kind::arithmetic:
      seconds = std::max(seconds, work.flops / (arithmetic_share * fp32_peak));
      break;
  }
  return seconds + work.launches * gap;
}

std::vector<std::string> GpuModel::assumptions() const {
  const GpuModel& original = *find_gpu_model(name);
  std::vector<std::string> lines;
  // "products of large bf16 matrices: 790 TFLOP/s (assumed)"
  const auto add = [&](const char* what, double value, double of_kind, const char* unit, const char* source) {
    char text[160];
    std::snprintf(text, sizeof text, "%s: %.4g%s (%s)", what, value, unit, value == of_kind ? source : "given");
    lines.emplace_back(text);
  };
  const auto figure = [&](const char* what, double GpuModel::*figure, double factor, const char* unit,
                          const char* source) {
    add(what, this->*figure * factor, original.*figure * factor, unit, source);
  };
  const char *sheet = "data sheet", *assumed = "assumed";
  using M = GpuModel;
  figure("products of large bf16 matrices", &M::bf16_products, 1 / kTera, " TFLOP/s", original.rates);
  figure("peak of bf16 products", &M::bf16_peak, 1 / kTera, " TFLOP/s", sheet);
  figure("peak of tf32 products", &M::tf32_peak, 1 / kTera, " TFLOP/s", sheet);
  figure("peak of fp32 arithmetic", &M::fp32_peak, 1 / kTera, " TFLOP/s", sheet);
  figure("bandwidth of a large copy", &M::copy_bandwidth, 1 / kGiga, " GB/s", original.rates);
  figure("peak of the bandwidth", &M::peak_bandwidth, 1 / kGiga, " GB/s", sheet);
  figure("bandwidth of passes, relative to a copy", &M::pass_share, 1, "", assumed);
  figure("memory", &M::memory, 1 / kGiga, " GB", sheet);
  figure("memory of the driver and of cublasLt", &M::reserved, 1 / kGiga, " GB", assumed);
  figure("memory of NCCL, with several GPUs", &M::nccl_buffers, 1 / kGiga, " GB", assumed);
  add("multiprocessors", multiprocessors, original.multiprocessors, "", sheet);
  figure("depth at which a product reaches half of the rate", &M::product_depth, 1, "", assumed);
  figure("attention, per block", &M::attention_block, 1e6, " us", assumed);
  figure("attention, per product of 64 x 64 tiles of 64 features", &M::attention_product, 1e6, " us", assumed);
  figure("attention without tensor cores, relative to fp32", &M::arithmetic_share, 1, "", assumed);
  figure("random numbers of dropout", &M::random_numbers, 1 / kGiga, " 10^9/s", assumed);
  figure("host time per launch", &M::launch, 1e6, " us", assumed);
  figure("gap between launches", &M::gap, 1e6, " us", assumed);
  figure("delay after a wait of the host", &M::wait, 1e6, " us", assumed);
  add("GPUs per node", node_gpus, original.node_gpus, "", assumed);
  figure("link between the GPUs of a node", &M::node_link, 1 / kGiga, " GB/s in each direction", sheet);
  figure("network of each GPU", &M::network, 8 / kGiga, " Gbit/s in each direction", assumed);
  figure("share of the links that an all-reduce reaches", &M::link_share, 1, "", assumed);
  figure("latency of a message within a node", &M::node_latency, 1e6, " us", assumed);
  figure("latency of a message between nodes", &M::network_latency, 1e6, " us", assumed);
  figure("copies between GPU and CPU (--deterministic)", &M::host_copy, 1 / kGiga, " GB/s", assumed);
  figure("exchange of a rank on the CPU (--deterministic)", &M::host_sum, 1 / kGiga, " GB/s", assumed);
  return lines;
}

std::vector<std::string> gpu_model_names() {
  std::vector<std::string> names;
  for (const GpuModel& model : models()) names.push_back(model.name);
  return names;
}

const GpuModel* find_gpu_model(const std::string& name) {
  const auto found = std::find_if(models().begin(), models().end(), [&](const GpuModel& m) { return m.name == name; });
  return found == models().end() ? nullptr : &*found;
}

const GpuModel* gpu_model_of_device(const std::string& device) {
  const auto found = std::find_if(models().begin(), models().end(),
                                  [&](const GpuModel& model) { return names_gpu(device, model.device); });
  return found == models().end() ? nullptr : &*found;
}

namespace {

// The clocks of the host, which queues the work, and of the GPU, which runs it in order.
class GpuClock {
 public:
  explicit GpuClock(const GpuModel& model) : model_(&model) {}

  struct Entry {
    GpuWork work;
    double begin, seconds;  // parts of the GPU's busy time
  };

  void run(const GpuWork& work) {
    if (work.kind == GpuWork::Kind::wait) return wait(work.readback);
    if (work.kind == GpuWork::Kind::readback) {
      readbacks_[work.readback] = {std::max(gpu_, host_), entries_.size()};
      return;
    }
    const double seconds = model_->seconds(work), queueing = work.launches * model_->launch;
    host_ += queueing;
    host_busy_ += queueing;
    gpu_ = std::max(gpu_, host_) + seconds;
    entries_.push_back({work, busy_, seconds});
    busy_ += seconds;
  }

  double end() const { return std::max(host_, gpu_); }
  double busy() const { return busy_; }
  double host_busy() const { return host_busy_; }
  int64_t waits() const { return waits_; }
  int64_t drains() const { return drains_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  struct Readback {
    double arrival = 0;  // the time, and the number of entries before it
    size_t entries = 0;
  };

  // The GPU goes on with the work behind a readback. A readback that was queued before the clock started has arrived.
  void wait(uint64_t number) {
    Readback awaited{std::max(gpu_, host_), entries_.size()};
    if (number != 0) {
      const auto found = readbacks_.find(number);
      awaited = found == readbacks_.end() ? Readback{} : found->second;
    }
    host_ = std::max(host_, awaited.arrival) + model_->wait;
    ++waits_;
    if (awaited.entries == entries_.size()) ++drains_;
  }

  const GpuModel* model_;
  double host_ = 0, host_busy_ = 0, gpu_ = 0, busy_ = 0;
  int64_t waits_ = 0, drains_ = 0;
  std::map<uint64_t, Readback> readbacks_;
  std::vector<Entry> entries_;
};

// Sums the work by op and purpose. Both lists are in the order of time.
std::vector<ForecastRow> rows_of(const std::vector<GpuClock::Entry>& entries, const std::vector<Span>& spans) {
  std::map<std::string, ForecastRow> rows;
  size_t s = 0;
  for (const auto& [work, begin, seconds] : entries) {
    const double middle = begin + seconds / 2;
    while (s + 1 < spans.size() && spans[s].end <= middle) ++s;
    const std::string name = concat(spans[s].name, ": ", work.name);
    ForecastRow& row = rows[name];
    row.name = name;
    row.of_optimizer = spans[s].name == kOptimizerSpan;
    row.launches += work.launches;
    row.seconds += seconds;
    row.bytes += work.bytes;
    row.flops += work.flops;
  }
  std::vector<ForecastRow> all;
  for (const auto& [name, row] : rows) all.push_back(row);
  return all;
}

void add_spans(GpuForecast& forecast, const std::vector<Span>& spans) {
  for (const Span& span : spans) {
    double& sum = span.kind == Span::Kind::forward ? forecast.forward_seconds
                  : span.name == kOptimizerSpan    ? forecast.optimizer_seconds
                                                   : forecast.backward_seconds;
    sum += span.seconds();
  }
  forecast.ops = rows_by_op(spans);
}

// Sorts the rows by time, and sums their launches and bytes.
GpuForecast with_sums(GpuForecast step) {
  std::stable_sort(step.rows.begin(), step.rows.end(),
                   [](const ForecastRow& a, const ForecastRow& b) { return a.seconds > b.seconds; });
  step.launches = 0;
  step.bytes = 0;
  for (const ForecastRow& row : step.rows) {
    step.launches += row.launches;
    step.bytes += row.bytes;
  }
  return step;
}

// The same step with `factor` times the work of forward and backward. Launches, waits and memory stay.
GpuForecast multiplied(GpuForecast step, double factor) {
  step.step_seconds = factor * (step.step_seconds - step.optimizer_seconds) + step.optimizer_seconds;
  step.forward_seconds *= factor;
  step.backward_seconds *= factor;
  step.busy_seconds = step.forward_seconds + step.backward_seconds + step.optimizer_seconds;
  step.flops *= factor;
  step.tokens *= factor;
  for (ForecastRow& row : step.rows) {
    if (row.of_optimizer) continue;
    row.seconds *= factor;
    row.bytes *= factor;
    row.flops *= factor;
  }
  step.ops.clear();
  return with_sums(std::move(step));
}

}  // namespace

GpuForecast forecast_step(const WorkloadMaker& make, const OptimizerOptions& options, Precision precision,
                          const GpuModel& model) {
  reset_virtual_memory();
  GpuForecast forecast;
  {
    const std::unique_ptr<Workload> work = make(kVirtualGpu);
    Optimizer optimizer(work->parameters(), virtual_kernels(), in_precision(options, precision));
    forecast.kept_bytes = double(virtual_memory_stats().active_bytes);
    for (uint64_t step = 0; step < 2; ++step) {
      forecast.tokens = double(work->draw(step));
      GpuClock clock(model);
      const GpuWorkScope scope([&](const GpuWork& done) { clock.run(done); });
      Timeline timeline({[&] { return clock.busy(); }, [] { return virtual_memory_stats().active_bytes; }});
      {
        Tape tape(virtual_kernels(), {.record = true,
                                      .training = true,
                                      .seed = step,
                                      .precision = precision,
                                      .loss_seeded = true,
                                      .parameters = &work->parameters(),
                                      .recompute = work->recompute()});
        tape.add_observer(timeline);
        tape.backward(work->loss(tape).loss);
        forecast.flops = kTrainingFlopsFactor * tape.flops();
      }
      timeline.mark(Timeline::kOther);
      // As in training, the host reads the outcome of an update when the next backward is queued.
      if (step > 0) optimizer.finish_update();
      optimizer.start_update(forecast.tokens);
      timeline.mark(kOptimizerSpan);
      if (step == 0) continue;
      forecast.step_seconds = clock.end();
      forecast.busy_seconds = clock.busy();
      forecast.host_seconds = clock.host_busy();
      forecast.waits = clock.waits();
      forecast.drains = clock.drains();
      forecast.rows = rows_of(clock.entries(), timeline.spans());
      add_spans(forecast, timeline.spans());
    }
    optimizer.finish_update();
    const MemoryStats memory = virtual_memory_stats();
    forecast.peak_bytes = double(memory.peak_bytes);
    forecast.pool_bytes = double(memory.active_bytes + memory.cached_bytes);
  }
  return with_sums(std::move(forecast));
}

GpuForecast with_micro_batches(GpuForecast step, int micro_batches) {
  double share_of_optimizer = 0;  // share of the launches
  for (ForecastRow& row : step.rows) {
    if (row.of_optimizer) {
      share_of_optimizer += double(row.launches) / double(step.launches);
    } else {
      row.launches *= micro_batches;
    }
  }
  step.host_seconds *= micro_batches * (1 - share_of_optimizer) + share_of_optimizer;
  step.waits = (step.waits - 1) * micro_batches + 1;  // one of them is for the outcome of an update
  step.drains *= micro_batches;
  return multiplied(std::move(step), micro_batches);
}

GpuForecast extrapolated(GpuForecast step, double factor) {
  step.peak_bytes = step.kept_bytes + factor * (step.peak_bytes - step.kept_bytes);
  step.pool_bytes = step.kept_bytes + factor * (step.pool_bytes - step.kept_bytes);
  return multiplied(std::move(step), factor);
}

StepPrediction predict_step(const Kernels& kernels, Precision precision, double product_flops,
                            const OptimizerOptions& options, const WorkloadMaker& make) {
  const GpuModel* const kind = gpu_model_of_device(kernels.name());
  if (!kind) return {};
  GpuModel model = *kind;
  model.set_products(precision, product_flops);
  model.copy_bandwidth = bandwidth_limit(kernels.device());
  return {kind->name + " (SXM)", forecast_step(make, options, precision, model).ops};
}

}  // namespace gyre
