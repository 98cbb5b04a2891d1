// When what happened in training steps: every moment from restart() to the last event belongs to one span, so that the
// spans of a step add up to it. An op's forward is the time since the event before its record.
//
//   timeline.restart();  make a batch;  timeline.mark("make the batch");
//   Tape tape(..);  tape.add_observer(timeline);  forward;  backward;  optimizer;  timeline.mark("optimizer")
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tape.h"

namespace gyre {

struct Span {
  enum class Kind : uint8_t { forward, backward, outside };
  std::string_view name;  // of an op, or what mark() said
  std::string module;     // path, of an op
  Kind kind = Kind::outside;
  int node = -1;  // of an op, on the tape of its step
  double begin = 0, end = 0;
  double flops = 0;              // of the forward pass (Op::flops), also in backward
  size_t before = 0, after = 0;  // bytes of tensors at its begin and at its end
  double seconds() const { return end - begin; }
};

class Timeline final : public TapeObserver {
 public:
  struct Probe {
    std::function<double()> seconds;
    std::function<size_t()> bytes;  // of tensors
  };
  // What the tape does around the ops' backward: adding gradients up, freeing what was saved, other observers.
  static constexpr std::string_view kOther = "other";

  explicit Timeline(Probe probe);

  void restart();                    // the time since the last event belongs to nobody
  void mark(std::string_view name);  // it belongs to this, which is no op; `name` must outlive the spans

  void on_record(const Tape& tape, int node) override;
  void before_backward(const Tape& tape, int node) override;
  void after_backward(const Tape& tape, int node) override;

  const std::vector<Span>& spans() const { return spans_; }  // in the order of time

 private:
  void add(Span span);

  Probe probe_;
  double seconds_;
  size_t bytes_;
  std::vector<Span> spans_;
};

}  // namespace gyre
