#include "gyre/autograd/inspect/timeline.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gyre/autograd/inspect/tape_rows.h"

namespace gyre {
namespace {

Span span_of(const Tape& tape, int number, Span::Kind kind) {
  const Node& node = tape.nodes()[size_t(number)];
  return {.name = node.name(), .module = node.module, .kind = kind, .node = number, .flops = node.op->flops()};
}

}  // namespace

Timeline::Timeline(Probe probe) : probe_(std::move(probe)), time_(read()), bytes_(probe_.bytes()) {}

void Timeline::restart() {
  spans();  // reads the times of this step, so that a long measurement does not keep them all
  time_ = read();
  bytes_ = probe_.bytes();
}

void Timeline::mark(std::string_view name) { add({.name = name, .module = {}}); }

void Timeline::on_record(const Tape& tape, int node) {
  add(span_of(tape, node, tape.recomputing() ? Span::Kind::recompute : Span::Kind::forward));
}

void Timeline::before_backward(const Tape&, int) { mark(kOther); }

void Timeline::after_backward(const Tape& tape, int node) { add(span_of(tape, node, Span::Kind::backward)); }

void Timeline::add(Span span) {
  Reading begin = std::exchange(time_, read());
  unread_.emplace_back(std::move(begin), time_);
  span.before = std::exchange(bytes_, probe_.bytes());
  span.after = bytes_;
  spans_.push_back(std::move(span));
}

Timeline::Reading Timeline::read() const {
  if (probe_.reading) return probe_.reading();
  return [now = probe_.seconds()] { return now; };
}

const std::vector<Span>& Timeline::spans() {
  size_t place = spans_.size() - unread_.size();
  for (const auto& [begin, end] : unread_) {
    spans_[place].begin = begin();
    spans_[place++].end = end();
  }
  unread_.clear();
  return spans_;
}

namespace {

void add(ProfileRow& row, const Span& span) {
  switch (span.kind) {
    case Span::Kind::forward:
      ++row.calls;
      row.flops += span.flops;
      row.forward_seconds += span.seconds();
      row.kept_bytes += double(span.after) - double(span.before);
      break;
    case Span::Kind::recompute:
      ++row.calls;
      row.flops += span.flops;
      row.backward_seconds += span.seconds();
      break;
    case Span::Kind::backward:
      row.backward_seconds += span.seconds();
      break;
    case Span::Kind::outside:
      ++row.calls;
      row.outside_seconds += span.seconds();
  }
}

// name(span) is the name of the row to which the span belongs.
template <class Name>
std::vector<ProfileRow> rows_by(const std::vector<Span>& spans, const Name& name) {
  std::map<std::string, ProfileRow> rows;
  for (const Span& span : spans) {
    ProfileRow& row = rows[name(span)];
    if (row.name.empty()) row.name = name(span);
    add(row, span);
  }
  std::vector<ProfileRow> all;
  for (const auto& [key, row] : rows) all.push_back(row);
  std::stable_sort(all.begin(), all.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.seconds() > b.seconds(); });
  return all;
}

}  // namespace

std::vector<ProfileRow> rows_by_op(const std::vector<Span>& spans) {
  return rows_by(spans, [](const Span& span) { return std::string(span.name); });
}

std::vector<ProfileRow> rows_by_module(const std::vector<Span>& spans, int depth) {
  return rows_by(spans, [depth](const Span& span) {
    return span.module.empty() ? std::string(span.name) : path_prefix(span.module, depth);
  });
}

std::vector<double> node_seconds(const std::vector<Span>& spans, size_t nodes) {
  std::vector<double> seconds(nodes);
  for (const Span& span : spans)
    if (span.node >= 0) seconds.at(size_t(span.node)) += span.seconds();
  return seconds;
}

}  // namespace gyre
