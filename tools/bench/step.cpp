#include "tools/bench/step.h"

#include <cstdio>
#include <numeric>

#include "tools/bench/device.h"
#include "tools/bench/figures.h"
#include "tools/bench/step_presets.h"
#include "train/optimizer.h"

namespace gyre {
namespace {

constexpr int kWarmUp = 2;
constexpr double kForwardAndBackward = 3;  // times the FLOPs of forward

struct StepCost {
  double seconds, flops;
  int64_t tokens;
};

class StepRunner {
 public:
  StepRunner(Workload& work, Kernels& kernels, Precision precision)
      : work_(work),
        kernels_(kernels),
        precision_(precision),
        optimizer_(work.parameters(), kernels, work.optimizer()) {}

  void attach(Profile& profile) { profile_ = &profile; }

  StepCost run(uint64_t number) {
    DeviceWatch watch(kernels_.device());
    if (profile_) profile_->restart();
    const int64_t tokens = work_.draw(number);
    mark("make the batch");
    const auto [flops, targets] = forward_and_backward(number);
    mark(Profile::kOther);  // freeing the tape
    optimizer_.update(double(targets));
    mark("optimizer");
    return {watch.lap(), kForwardAndBackward * flops, tokens};
  }

 private:
  std::pair<double, int64_t> forward_and_backward(uint64_t number) {
    Tape tape(kernels_,
              {.record = true, .training = true, .seed = number, .precision = precision_, .unit_cotangent = true});
    if (profile_) tape.add_observer(*profile_);
    const LossResult result = work_.loss(tape);
    tape.backward(result.loss);
    return {tape.flops(), result.sums.tokens};
  }

  void mark(std::string_view name) {
    if (profile_) profile_->mark(name);
  }

  Workload& work_;
  Kernels& kernels_;
  Precision precision_;
  Profile* profile_ = nullptr;
  Optimizer optimizer_;
};

// The rows of one step.
std::vector<Profile::Row> per_step(std::vector<Profile::Row> rows, int steps) {
  for (Profile::Row& row : rows) {
    row.calls /= steps;
    for (double* sum : {&row.forward_seconds, &row.backward_seconds, &row.outside_seconds, &row.flops}) *sum /= steps;
  }
  return rows;
}

// Of forward and backward together.
double rate(const Profile::Row& row) { return row.seconds() > 0 ? kForwardAndBackward * row.flops / row.seconds() : 0; }

}  // namespace

StepReport run_step_bench(Kernels& kernels, const StepBench& bench) {
  const Device device = kernels.device();
  const ProductLimit limit(device, bench.precision);
  reset_peak_rss();
  const std::unique_ptr<Workload> work = make_workload(bench.preset, bench.variant, device);
  StepRunner runner(*work, kernels, bench.precision);
  for (int i = 0; i < kWarmUp; ++i) runner.run(uint64_t(i));

  Profile profile([device, watch = Stopwatch()] {
    wait_for(device);
    return watch.seconds();
  });
  if (bench.profile) runner.attach(profile);
  std::vector<double> seconds;
  StepCost total{};
  for (int i = 0; i < bench.steps; ++i) {
    const StepCost cost = runner.run(uint64_t(kWarmUp + i));
    seconds.push_back(cost.seconds);
    total.seconds += cost.seconds;
    total.flops += cost.flops;
    total.tokens += cost.tokens;
  }

  StepReport report;
  report.step_seconds = median(seconds);
  report.mean_seconds = total.seconds / bench.steps;
  const double divisor = work->varies() ? total.seconds : report.step_seconds * bench.steps;
  report.tokens_per_second = double(total.tokens) / divisor;
  report.flops = total.flops / divisor;
  report.peak_rss_mb = peak_rss_mb();
  report.peak_gpu_mb = peak_gpu_mb(device);
  report.parameters = work->parameters().elements();
  report.batches = work->batches();
  if (bench.profile) report.profile = per_step(profile.rows(), bench.steps);
  report.limit_flops = limit.value();
  return report;
}

nlohmann::ordered_json to_json(const StepReport& report) {
  nlohmann::ordered_json facts{{"batches", report.batches},
                               {"parameters", report.parameters},
                               {"tokens_per_second", rounded(report.tokens_per_second)},
                               {"step_ms", rounded(1e3 * report.step_seconds)}};
  add_rate(facts, report.flops, report.limit_flops);
  add_memory(facts, report.peak_rss_mb, report.peak_gpu_mb);
  return facts;
}

nlohmann::ordered_json rows_json(const StepReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Profile::Row& row : report.profile)
    rows.push_back({{"name", row.name},
                    {"calls", row.calls},
                    {"forward_ms", rounded(1e3 * row.forward_seconds)},
                    {"backward_ms", rounded(1e3 * row.backward_seconds)},
                    {"ms", rounded(1e3 * row.seconds())},
                    {"gflops", rounded(rate(row) / 1e9)},
                    {"share", rounded(row.seconds() / report.mean_seconds)}});
  return rows;
}

void print_rows(const StepReport& report) {
  std::printf("\n%-20s %6s %12s %12s %9s %9s %7s\n", "one step", "calls", "forward ms", "backward ms", "ms", "GFLOP/s",
              "share");
  const auto line = [&](const Profile::Row& row) {
    char gflops[32] = "";  // of products
    if (row.flops > 0) std::snprintf(gflops, sizeof gflops, "%.1f", rate(row) / 1e9);
    std::printf("%-20s %6lld %12.2f %12.2f %9.2f %9s %6.1f%%\n", row.name.c_str(), static_cast<long long>(row.calls),
                1e3 * row.forward_seconds, 1e3 * row.backward_seconds, 1e3 * row.seconds(), gflops,
                100 * row.seconds() / report.mean_seconds);
  };
  Profile::Row sum{.name = "sum"};
  for (const Profile::Row& row : report.profile) {
    line(row);
    sum.calls += row.calls;
    sum.forward_seconds += row.forward_seconds;
    sum.backward_seconds += row.backward_seconds;
    sum.outside_seconds += row.outside_seconds;
    sum.flops += row.flops;
  }
  line(sum);
}

}  // namespace gyre
