#include "autograd/profile.h"

#include <algorithm>
#include <chrono>

namespace gyre {

static double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Profile::Profile() : Profile(steady_seconds) {}

Profile::Profile(std::function<double()> clock) : clock_(std::move(clock)), last_(clock_()) {}

void Profile::restart() { last_ = clock_(); }

void Profile::mark(std::string_view name) {
  Row& r = row(name);
  ++r.calls;
  r.outside_seconds += lap();
}

void Profile::on_record(const Tape& tape, int node) {
  const Op& op = *tape.nodes()[size_t(node)].op;
  Row& r = row(op.name());
  ++r.calls;
  r.flops += op.flops();
  r.forward_seconds += lap();
}

void Profile::before_backward(const Tape&, int) { row(kOther).outside_seconds += lap(); }

void Profile::after_backward(const Tape& tape, int node) {
  row(tape.nodes()[size_t(node)].name()).backward_seconds += lap();
}

std::vector<Profile::Row> Profile::rows() const {
  std::vector<Row> all;
  for (const auto& [name, r] : rows_) all.push_back(r);
  std::stable_sort(all.begin(), all.end(), [](const Row& a, const Row& b) { return a.seconds() > b.seconds(); });
  return all;
}

Profile::Row& Profile::row(std::string_view name) {
  const auto it = rows_.find(name);
  if (it != rows_.end()) return it->second;
  Row& fresh = rows_[std::string(name)];
  fresh.name = name;
  return fresh;
}

double Profile::lap() {
  const double before = last_;
  last_ = clock_();
  return last_ - before;
}

}  // namespace gyre
