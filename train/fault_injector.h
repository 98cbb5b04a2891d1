// Injects a fault into a training run, for the tests in tests/faults. Nothing else in the library depends on it.
//
// GYRE_FAULT="RANK UPDATE POINT ACTION" makes that rank perform ACTION when it reaches POINT in that update.
//   POINT   a phase (train/parallel/communicator.h) or a stage of saving (train/checkpoint/run_directory.h)
//   ACTION  kill, stop, term: the rank sends itself the signal
//           throw: an Error; memory: std::bad_alloc
//           slow: sleeps for one second, in this update and all later ones
//           nan: makes weights (in forward) or gradients (in backward) NaN
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gyre/autograd/parameters.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/parallel/communicator.h"

namespace gyre {

class FaultInjector {
 public:
  // Throws an Error if GYRE_FAULT is not a valid plan.
  static void check_environment();

  // Observes the phases of `ranks` and the stages of saving in `run` if GYRE_FAULT names this rank, and does nothing
  // otherwise. `run` is null on ranks other than 0. Keeps a reference to `ranks`. Throws as check_environment() does.
  FaultInjector(Communicator& ranks, RunDirectory* run);
  ~FaultInjector();
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

  // The tensors that the action nan changes.
  void set_parameters(Parameters& parameters) { parameters_ = &parameters; }

 private:
  struct Fault {
    int rank = 0;
    uint64_t update = 0;
    std::string point, action;
  };

  static std::optional<Fault> planned_fault();
  void reached(std::string_view point, uint64_t update) const;
  void inject_nan() const;

  Communicator& ranks_;
  Parameters* parameters_ = nullptr;
  std::optional<Fault> fault_;  // fault of this rank
};

}  // namespace gyre
