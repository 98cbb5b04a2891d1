// Runs training steps of a workload and looks at where their time and memory go.
#pragma once

#include <string>
#include <vector>

#include "autograd/profile.h"
#include "core/kernels.h"
#include "tools/workload.h"
#include "train/communicator.h"

namespace gyre {

struct ProfileRun {
  Precision precision = Precision::fp32;
  int steps = 5;  // looked at, and as many without, in turn
  bool trace = false;
  double bucket_mb = 1;
};

struct ProfileReport {
  int64_t tokens = 0, parameters = 0;  // tokens of a step on all ranks
  std::string batches;                 // of a rank
  double step_seconds = 0;             // the median of steps that nobody looks at
  double profiled_seconds = 0;         // the same of those that are looked at
  double spans_seconds = 0;            // what their spans add up to, the median
  double flops = 0;                    // a second, of a rank
  double limit_flops = 0;
  std::vector<Span> spans;         // of all steps that were looked at, on this rank
  std::vector<Span> last;          // of the last of them
  std::vector<std::string> trace;  // on rank 0, with ProfileRun::trace: the events of each rank (tools/inspect/trace.h)
};

// Collective. Two steps warm up, and two more are traced.
ProfileReport run_profile(Workload& work, Kernels& kernels, Communicator& ranks, const ProfileRun& run);

}  // namespace gyre
