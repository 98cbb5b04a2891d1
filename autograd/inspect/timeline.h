// Timeline of training steps: the time from restart() to the last event is divided into spans without gaps, so the
// spans of a step add up to its duration. An op's forward span lasts from the previous event to the op's record.
//
//   timeline.restart();  make a batch;  timeline.mark("make the batch");
//   Tape tape(..);  tape.add_observer(timeline);  forward;  backward;  optimizer;  timeline.mark("optimizer")
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/autograd/tape.h"

namespace gyre {

struct Span {
  enum class Kind : uint8_t { forward, backward, outside, recompute };  // recompute: of a checkpoint, during backward
  std::string_view name;                                                // name of the op, or the argument of mark()
  std::string module;                                                   // module path of the op
  Kind kind = Kind::outside;
  int node = -1;  // node of the op on the tape of its step; -1: no op
  double begin = 0, end = 0;
  double flops = 0;              // FLOPs of the op's forward (Op::flops), also in backward spans
  size_t before = 0, after = 0;  // bytes of tensors at the beginning and the end of the span
  double seconds() const { return end - begin; }
};

class Timeline final : public TapeObserver {
 public:
  using Reading = std::function<double()>;
  struct Probe {
    std::function<double()> seconds;
    std::function<size_t()> bytes;  // memory of tensors
    // The time at which the work queued so far is done. It asks at once and waits when the reading is called, so that
    // a GPU works without pauses while it is measured. Empty: `seconds` takes its place.
    std::function<Reading()> reading{};
  };
  // Name of the spans between the ops' backward calls: accumulation of gradients, release of saved tensors, other
  // observers.
  static constexpr std::string_view kOther = "other";

  explicit Timeline(Probe probe);

  void restart();                    // excludes the time since the last event, for which it waits
  void mark(std::string_view name);  // ends a span of this name that belongs to no op; `name` must outlive the spans

  void on_record(const Tape& tape, int node) override;
  void before_backward(const Tape& tape, int node) override;
  void after_backward(const Tape& tape, int node) override;

  const std::vector<Span>& spans();  // spans in chronological order; waits for the last one

 private:
  void add(Span span);
  Reading read() const;

  Probe probe_;
  Reading time_;  // time of the last event
  size_t bytes_;
  std::vector<Span> spans_;
  std::vector<std::pair<Reading, Reading>> unread_;  // begin and end of the last spans
};

// A row of the profile of training steps: the spans of a timeline, summed by op or by module.
struct ProfileRow {
  std::string name;
  int64_t calls = 0;  // forward calls of an op, or spans outside ops
  // An op in a checkpoint is part of the op "checkpoint" in forward. Backward includes its recomputation.
  double forward_seconds = 0, backward_seconds = 0;
  double outside_seconds = 0;  // time of spans outside ops
  double flops = 0;            // FLOPs of the forward pass (Op::flops)
  double kept_bytes = 0;       // growth of tensor memory in forward: tensors kept for backward
  double seconds() const { return forward_seconds + backward_seconds + outside_seconds; }
};

// rows_by_op() and rows_by_module() sort the rows by decreasing time.
std::vector<ProfileRow> rows_by_op(const std::vector<Span>& spans);
// Truncates module paths to `depth` names. Spans without a module are grouped by their own name.
std::vector<ProfileRow> rows_by_module(const std::vector<Span>& spans, int depth);

// Seconds of forward plus backward of one step, by node of a tape with `nodes` nodes.
std::vector<double> node_seconds(const std::vector<Span>& spans, size_t nodes);

}  // namespace gyre
