#include "gyre/autograd/inspect/timeline.h"

#include <utility>

namespace gyre {
namespace {

Span span_of(const Tape& tape, int number, Span::Kind kind) {
  const Node& node = tape.nodes()[size_t(number)];
  return {.name = node.name(), .module = node.module, .kind = kind, .node = number, .flops = node.op->flops()};
}

}  // namespace

Timeline::Timeline(Probe probe) : probe_(std::move(probe)), seconds_(probe_.seconds()), bytes_(probe_.bytes()) {}

void Timeline::restart() {
  seconds_ = probe_.seconds();
  bytes_ = probe_.bytes();
}

void Timeline::mark(std::string_view name) { add({.name = name, .module = {}}); }

void Timeline::on_record(const Tape& tape, int node) {
  add(span_of(tape, node, tape.recomputing() ? Span::Kind::recompute : Span::Kind::forward));
}

void Timeline::before_backward(const Tape&, int) { mark(kOther); }

void Timeline::after_backward(const Tape& tape, int node) { add(span_of(tape, node, Span::Kind::backward)); }

void Timeline::add(Span span) {
  span.begin = std::exchange(seconds_, probe_.seconds());
  span.end = seconds_;
  span.before = std::exchange(bytes_, probe_.bytes());
  span.after = bytes_;
  spans_.push_back(std::move(span));
}

}  // namespace gyre
