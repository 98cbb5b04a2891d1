#include "gyre/train/fault_injector.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/errors.h"

namespace gyre::test {
namespace {

// Sets GYRE_FAULT during its lifetime.
class FaultPlan {
 public:
  explicit FaultPlan(const char* plan) { setenv("GYRE_FAULT", plan, 1); }
  ~FaultPlan() { unsetenv("GYRE_FAULT"); }
  FaultPlan(const FaultPlan&) = delete;
  FaultPlan& operator=(const FaultPlan&) = delete;
};

std::string error_of_plan(const char* plan) {
  const FaultPlan environment(plan);
  return error_of(FaultInjector::check_environment);
}

TEST_CASE("GYRE_FAULT: misspelled points and actions are errors") {
  for (const char* plan : {"0 7 backward nan", "1 1 data slow", "0 4 written throw", "1 8 best kill"})
    CHECK(error_of_plan(plan) == "no error");
  CHECK(error_of_plan("0 7 backward") == "[GYRE_FAULT] expected RANK UPDATE POINT ACTION, got 0 7 backward");
  CHECK(contains(error_of_plan("0 7 backwards nan"), "[GYRE_FAULT POINT] expected one of start, data, "));
  CHECK(contains(error_of_plan("0 7 backwards nan"), "written, renamed, last, best, got 'backwards'"));
  CHECK(error_of_plan("0 7 data die") ==
        "[GYRE_FAULT ACTION] expected one of kill, stop, term, throw, memory, slow, nan, got 'die'");
}

TEST_CASE("an injected fault affects only its rank, point and update") {
  SelfCommunicator self;
  {
    const FaultPlan environment("1 3 data throw");
    const FaultInjector faults(self, nullptr);
    self.enter(Phase::data, 3);
  }
  const FaultPlan environment("0 3 data throw");
  const FaultInjector faults(self, nullptr);
  self.enter(Phase::data, 2);
  self.enter(Phase::forward, 3);
  CHECK_THROWS_AS(self.enter(Phase::data, 3), Error);
}

}  // namespace
}  // namespace gyre::test
