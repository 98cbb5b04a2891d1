#include "gyre/train/fault_injector.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <new>
#include <sstream>
#include <thread>
#include <vector>

#include "gyre/core/option_checks.h"

namespace gyre {

namespace {

constexpr std::array kActions{"kill", "stop", "term", "throw", "memory", "slow", "nan"};

std::vector<std::string_view> fault_points() {
  std::vector<std::string_view> points(kPhaseNames.begin(), kPhaseNames.end());
  points.insert(points.end(), kSaveStageNames.begin(), kSaveStageNames.end());
  return points;
}

}  // namespace

std::optional<FaultInjector::Fault> FaultInjector::planned_fault() {
  const char* text = std::getenv("GYRE_FAULT");
  if (text == nullptr) return std::nullopt;
  Fault fault;
  std::istringstream words(text);
  words >> fault.rank >> fault.update >> fault.point >> fault.action;
  require(!words.fail(), "[GYRE_FAULT] expected RANK UPDATE POINT ACTION, got ", text);
  expect_one_of(fault_points(), "GYRE_FAULT POINT", fault.point);
  expect_one_of(kActions, "GYRE_FAULT ACTION", fault.action);
  return fault;
}

void FaultInjector::check_environment() { planned_fault(); }

FaultInjector::FaultInjector(Communicator& ranks, RunDirectory* run) : ranks_(ranks), fault_(planned_fault()) {
  if (fault_ && fault_->rank != ranks.rank()) fault_.reset();
  if (!fault_) return;
  ranks.observe_phases([this](Phase phase, uint64_t update) { reached(to_string(phase), update); });
  if (run == nullptr) return;
  run->observe_saving([this](SaveStage stage, uint64_t updates) { reached(to_string(stage), updates); });
}

FaultInjector::~FaultInjector() {
  if (fault_) ranks_.observe_phases(nullptr);
}

void FaultInjector::reached(std::string_view point, uint64_t update) const {
  const std::string& action = fault_->action;
  const bool is_due = action == "slow" ? update >= fault_->update : update == fault_->update;
  if (point != fault_->point || !is_due) return;
  if (action == "kill") std::raise(SIGKILL);
  if (action == "stop") std::raise(SIGSTOP);
  if (action == "term") std::raise(SIGTERM);
  if (action == "slow") std::this_thread::sleep_for(std::chrono::seconds(1));  // even if a signal arrives
  if (action == "memory") throw std::bad_alloc();
  if (action == "throw") throw Error("[GYRE_FAULT] an injected error");
  if (action == "nan" && parameters_ != nullptr) inject_nan();
}

// Changes the parameter in the middle of the arenas.
void FaultInjector::inject_nan() const {
  constexpr int64_t kNumbers = 64;
  const int64_t middle = parameters_->values().size() / 2;
  size_t index = parameters_->count() - 1;
  while ((*parameters_)[index].offset > middle) --index;
  Parameter& p = (*parameters_)[index];
  const int64_t elements = p.shape.elements(), first = std::min(middle - p.offset, elements - 1);
  const Tensor& values = fault_->point == to_string(Phase::forward) ? p.value : p.allocated_gradient();
  const Tensor some = values.reshape({elements}).slice(first, std::min(elements, first + kNumbers));
  some.copy_from(Tensor::from({some.size()}, std::vector<float>(size_t(some.size()), NAN)));
}

}  // namespace gyre
