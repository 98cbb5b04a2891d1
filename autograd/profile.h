// Where the time of training steps goes: every moment from restart() to the last event belongs to one row, so that the
// rows add up to the step. An op's forward is the time since the event before its record.
//
//   profile.restart();  make a batch;  profile.mark("make the batch");
//   Tape tape(..);  tape.add_observer(profile);  forward;  backward;  optimizer;  profile.mark("optimizer")
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tape.h"

namespace gyre {

class Profile final : public TapeObserver {
 public:
  struct Row {
    std::string name;  // of an op, or what mark() said
    int64_t calls = 0;
    double forward_seconds = 0, backward_seconds = 0;
    double outside_seconds = 0;  // of what is no op
    double flops = 0;            // of the forward pass (Op::flops)
    double seconds() const { return forward_seconds + backward_seconds + outside_seconds; }
  };
  // What the tape does around the ops' backward: adding gradients up, freeing what was saved, other observers.
  static constexpr std::string_view kOther = "other";

  Profile();
  explicit Profile(std::function<double()> clock);  // seconds

  void restart();                    // the time since the last event belongs to nobody
  void mark(std::string_view name);  // it belongs to this row, which is no op

  void on_record(const Tape& tape, int node) override;
  void before_backward(const Tape& tape, int node) override;
  void after_backward(const Tape& tape, int node) override;

  std::vector<Row> rows() const;  // the most time first

 private:
  Row& row(std::string_view name);
  double lap();

  std::function<double()> clock_;
  double last_;
  std::map<std::string, Row, std::less<>> rows_;
};

}  // namespace gyre
