// A trace of training steps in Chrome's Trace Event Format, which Perfetto (ui.perfetto.dev) and chrome://tracing draw:
// a process per rank, with tracks for its ops and what lies between them, the modules that they belong to, what the
// communicator's own thread works on, and for the messages that are under way: several tracks where they overlap.
#pragma once

#include <string>
#include <vector>

#include "autograd/timeline.h"
#include "core/file.h"
#include "train/traced_communicator.h"

namespace gyre {

struct RankTrace {
  int rank = 0;
  double zero = 0;  // on its clock: the same moment on all ranks
  std::vector<Span> spans;
  std::vector<Exchange> exchanges;
};

// The events of a rank, a text that can be sent; write_trace() makes one trace of those of all ranks.
std::string trace_events(const RankTrace& trace);
void write_trace(const Path& output, const std::vector<std::string>& events_of_ranks);

}  // namespace gyre
