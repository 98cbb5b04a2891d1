#include "tools/page/tape/rank_step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/clock.h"
#include "gyre/train/parallel/reducer.h"
#include "tools/page/tape/step_data.h"
#include "tools/workload/device.h"

namespace gyre {
namespace {

constexpr int kRankSteps = 5;

// Notes which buckets the reducer has started. Add it to the tape after the reducer.
class Departures final : public TapeObserver {
 public:
  Departures(const GradientReducer& reducer, std::function<double()> seconds)
      : reducer_(reducer), seconds_(std::move(seconds)) {
    for (const ElementRange range : reducer.buckets()) buckets_.push_back({.range = range, .messages = {}});
  }

  void before_backward(const Tape&, int node) override { node_ = node; }
  void on_parameter_ready(Parameter&) override {
    while (started_ < reducer_.started()) depart(node_);
  }

  // The buckets, once backward has ended: the reducer then starts the rest of them.
  std::vector<RankStep::Bucket> take() {
    while (started_ < buckets_.size()) depart(-1);
    return std::move(buckets_);
  }

 private:
  // Waits for a GPU at each bucket: the time must be comparable with those of messages on the CPU.
  void depart(int node) {
    buckets_[started_].node = node;
    buckets_[started_++].leaves = seconds_();
  }

  const GradientReducer& reducer_;
  std::function<double()> seconds_;
  std::vector<RankStep::Bucket> buckets_;
  size_t started_ = 0;
  int node_ = -1;
};

std::vector<RankStep::Op> backward_ops(const std::vector<Span>& spans) {
  std::vector<RankStep::Op> ops;
  for (const Span& span : spans)
    if (span.kind == Span::Kind::backward && span.node >= 0) ops.push_back({span.node, {span.begin, span.end}});
  return ops;
}

RankStep run_once(Workload& work, Kernels& kernels, Precision precision, TracedCommunicator& ranks,
                  const Timeline::Probe& probe, GradientReducer& reducer) {
  RankStep step;
  work.parameters().zero_gradients();
  Timeline timeline(probe);
  Departures departures(reducer, probe.seconds);
  TapeObserver* const observer = reducer.begin_micro_batch();
  {
    Tape tape(kernels, page_tape_options(precision, ranks.rank()));
    const LossResult result = work.loss(tape);
    tape.add_observer(timeline);
    tape.add_observer(*observer);
    tape.add_observer(departures);
    timeline.restart();
    tape.backward(result.loss);
  }
  reducer.end_micro_batch();
  step.end_of_backward = probe.seconds();
  step.buckets = departures.take();
  step.backward = backward_ops(timeline.spans());
  reducer.finish();
  step.end = probe.seconds();
  return step;
}

void shift(RankStep& step, double zero) {
  const auto move = [zero](auto& interval) {
    interval.begin -= zero;
    interval.end -= zero;
  };
  for (RankStep::Op& op : step.backward) move(op.time);
  for (RankStep::Bucket& bucket : step.buckets) {
    bucket.leaves -= zero;
    if (bucket.messages) move(*bucket.messages);
  }
  for (Exchange& exchange : step.lookups) move(exchange);
  step.end_of_backward -= zero;
  step.end -= zero;
}

}  // namespace

void assign_messages(std::vector<Exchange> exchanges, RankStep& step) {
  std::stable_sort(exchanges.begin(), exchanges.end(),
                   [](const Exchange& a, const Exchange& b) { return a.begin < b.begin; });
  std::map<std::string, size_t> counts;
  bool has_row_numbers = false;
  for (Exchange& exchange : exchanges) {
    if (exchange.kind != Exchange::Kind::background) continue;
    const bool is_row_numbers = exchange.name == "all-reduce" && !std::exchange(has_row_numbers, true);
    const size_t bucket = is_row_numbers ? step.buckets.size() : counts[exchange.name]++;
    if (bucket >= step.buckets.size()) {
      step.lookups.push_back(std::move(exchange));
      continue;
    }
    auto& [range, node, leaves, messages] = step.buckets[bucket];
    if (!messages) messages = {exchange.begin, exchange.end};
    messages->end = std::max(messages->end, exchange.end);
    leaves = std::min(leaves, messages->begin);  // the reducer had started the message before the time was noted
  }
}

RankStep run_rank_step(Workload& work, Kernels& kernels, Precision precision, Communicator& ranks, double bucket_mb) {
  const Stopwatch watch;
  const Timeline::Probe probe = device_probe(kernels.device(), watch);
  TracedCommunicator traced(ranks, [watch] { return watch.seconds(); });
  GradientReducer reducer(traced, kernels, work.parameters(), {.bucket_mb = bucket_mb, .micro_batches = ranks.size()});
  run_once(work, kernels, precision, traced, probe, reducer);  // warm-up
  RankStep fastest;
  double shortest = INFINITY;
  for (int i = 0; i < kRankSteps; ++i) {
    traced.barrier();
    traced.take();
    const double zero = probe.seconds();
    RankStep step = run_once(work, kernels, precision, traced, probe, reducer);
    assign_messages(traced.take(), step);
    shift(step, zero);
    double length = step.end;
    ranks.all_reduce(std::span<double>(&length, 1));
    if (length >= shortest) continue;
    shortest = length;
    fastest = std::move(step);
  }
  return fastest;
}

}  // namespace gyre
