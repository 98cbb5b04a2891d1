#include "tools/workload/step_runner.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "gyre/core/io/json.h"
#include "tools/summary.h"
#include "tools/workload/device.h"

namespace gyre {

namespace {

ReducerOptions one_micro_batch_per_rank(ReducerOptions options, const Communicator& ranks) {
  options.micro_batches = ranks.size();
  return options;
}

}  // namespace

StepRunner::StepRunner(Workload& work, Kernels& kernels, Precision precision, Communicator& ranks,
                       const ReducerOptions& options)
    : work_(work),
      kernels_(kernels),
      precision_(precision),
      ranks_(ranks),
      reducer_(ranks, kernels, work.parameters(), one_micro_batch_per_rank(options, ranks)),
      optimizer_(work.parameters(), kernels, in_precision(work.optimizer(), precision), &reducer_) {}

StepCost StepRunner::run(uint64_t number) {
  DeviceWatch watch(kernels_.device());
  StepCost cost = queue(number);
  finish();
  cost.seconds = watch.lap();
  return cost;
}

StepCost StepRunner::queue(uint64_t number) {
  if (timeline_) timeline_->restart();
  const uint64_t own = number * uint64_t(ranks_.size()) + uint64_t(ranks_.rank());
  const int64_t tokens = work_.draw(own);
  mark("make the batch");
  double predictions = 0;
  const double flops = forward_and_backward(own, predictions);
  mark(Timeline::kOther);  // freeing the tape
  reducer_.finish();
  ranks_.all_reduce(std::span<double>(&predictions, 1));
  if (ranks_.size() > 1) mark("wait for ranks");
  finish();  // the figures of the previous step have arrived by now
  optimizer_.start_update(predictions);
  started_ = true;
  mark(kOptimizerSpan);
  return {0, kTrainingFlopsFactor * flops, tokens};
}

void StepRunner::finish() {
  if (std::exchange(started_, false)) optimizer_.finish_update();
}

double StepRunner::forward_and_backward(uint64_t seed, double& predictions) {
  TapeObserver* const reducer = reducer_.begin_micro_batch();
  Tape tape(kernels_, {.record = true,
                       .training = true,
                       .seed = seed,
                       .precision = precision_,
                       .loss_seeded = true,
                       .parameters = &work_.parameters(),
                       .recompute = work_.recompute()});
  if (timeline_) tape.add_observer(*timeline_);
  const LossResult result = work_.loss(tape);
  predictions = double(result.predictions);
  if (reducer != nullptr) tape.add_observer(*reducer);
  tape.backward(result.loss);
  reducer_.end_micro_batch();
  return tape.flops();
}

void StepRunner::mark(std::string_view name) {
  if (timeline_) timeline_->mark(name);
}

namespace {

// FLOP/s of forward and backward together.
double rate(const ProfileRow& row) { return row.seconds() > 0 ? kTrainingFlopsFactor * row.flops / row.seconds() : 0; }

ProfileRow sum_of(const std::vector<ProfileRow>& rows) {
  ProfileRow sum{.name = "sum"};
  for (const ProfileRow& row : rows) {
    sum.calls += row.calls;
    sum.forward_seconds += row.forward_seconds;
    sum.backward_seconds += row.backward_seconds;
    sum.outside_seconds += row.outside_seconds;
    sum.flops += row.flops;
    sum.kept_bytes += row.kept_bytes;
  }
  return sum;
}

// Formats x, or returns "" if there is no value.
std::string number(const char* format, double x, bool there) {
  char text[32] = "";
  if (there) std::snprintf(text, sizeof text, format, x);
  return text;
}

double predicted_seconds(const std::vector<ProfileRow>& predicted, const std::string& name) {
  for (const ProfileRow& row : predicted)
    if (row.name == name) return row.seconds();
  return 0;
}

}  // namespace

std::vector<ProfileRow> per_step(std::vector<ProfileRow> rows, int steps) {
  for (ProfileRow& row : rows) {
    row.calls /= steps;
    for (double* sum : {&row.forward_seconds, &row.backward_seconds, &row.outside_seconds, &row.flops, &row.kept_bytes})
      *sum /= steps;
  }
  return rows;
}

Json profile_json(const std::vector<ProfileRow>& rows, double limit_flops, const std::vector<ProfileRow>& predicted) {
  const double all = sum_of(rows).seconds();
  Json list = Json::array();
  for (const ProfileRow& row : rows) {
    list.push_back({{"name", row.name},
                    {"calls", row.calls},
                    {"forward_ms", rounded(1e3 * row.forward_seconds)},
                    {"backward_ms", rounded(1e3 * row.backward_seconds)},
                    {"ms", rounded(1e3 * row.seconds())},
                    {"gflops", rounded(rate(row) / 1e9)},
                    {"share_of_limit", rounded(rate(row) / limit_flops)},
                    {"kept_mib", rounded(row.kept_bytes / kMebibyte)},
                    {"share", rounded(row.seconds() / all)}});
    if (!predicted.empty()) list.back()["predicted_ms"] = rounded(1e3 * predicted_seconds(predicted, row.name));
  }
  return list;
}

void print_profile(const std::string& title, const std::vector<ProfileRow>& rows, double limit_flops,
                   const std::vector<ProfileRow>& predicted) {
  size_t width = 20;
  for (const ProfileRow& row : rows) width = std::max(width, row.name.size());
  std::printf("\n%-*s %6s %12s %12s %9s %7s %9s %9s %9s%s\n", int(width), title.c_str(), "calls", "forward ms",
              "backward ms", "ms", "share", "GFLOP/s", "of limit", "kept MiB", predicted.empty() ? "" : " predicted");
  const ProfileRow sum = sum_of(rows);
  const auto line = [&](const ProfileRow& row, double prediction) {
    const bool products = row.flops > 0;
    std::printf("%-*s %6lld %12.2f %12.2f %9.2f %6.1f%% %9s %9s %9.2f%s\n", int(width), row.name.c_str(),
                static_cast<long long>(row.calls), 1e3 * row.forward_seconds, 1e3 * row.backward_seconds,
                1e3 * row.seconds(), 100 * row.seconds() / sum.seconds(),
                number("%.1f", rate(row) / 1e9, products).c_str(),
                number("%.1f%%", 100 * rate(row) / limit_flops, products).c_str(), row.kept_bytes / kMebibyte,
                number(" %9.2f", 1e3 * prediction, !predicted.empty()).c_str());
  };
  for (const ProfileRow& row : rows) line(row, predicted_seconds(predicted, row.name));
  line(sum, sum_of(predicted).seconds());
}

}  // namespace gyre
