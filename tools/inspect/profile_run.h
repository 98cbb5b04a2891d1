// Runs training steps of a workload and profiles their time and memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gyre/autograd/inspect/profile.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/communicator.h"
#include "tools/workload/workload.h"

namespace gyre {

struct ProfileRun {
  Precision precision = Precision::fp32;
  int steps = 5;  // profiled steps, alternating with as many unprofiled ones
  bool trace = false;
  std::optional<double> bucket_mb = {};  // the field of ParallelOptions
};

struct ProfileReport {
  int64_t tokens = 0, parameters = 0;  // tokens of a step on all ranks
  std::string batches;                 // description of a rank's batches
  double step_seconds = 0;             // median of the unprofiled steps
  double profiled_seconds = 0;         // median of the profiled steps
  double spans_seconds = 0;            // median of the sums of their spans
  double flops = 0;                    // FLOP/s of a rank
  double limit_flops = 0;
  std::vector<Span> spans;         // spans of all profiled steps, on this rank
  std::vector<Span> last;          // spans of the last profiled step
  std::vector<std::string> trace;  // events of each rank (tools/inspect/trace.h), on rank 0, with ProfileRun::trace
};

// Collective. Runs two warm-up steps first and, with ProfileRun::trace, two traced steps at the end.
ProfileReport run_profile(Workload& work, Kernels& kernels, Communicator& ranks, const ProfileRun& run);

}  // namespace gyre
