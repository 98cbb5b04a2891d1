#include "tools/workload/gpu/gpu_forecast.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/train/optim/optimizer.h"
#include "tools/workload/device.h"
#include "tools/workload/step_runner.h"

namespace gyre {
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
