// Writes a trace of training steps in Chrome's Trace Event Format, for Perfetto (ui.perfetto.dev) and chrome://tracing.
// Each rank is a process with tracks for its modules, its ops and the work between them, the communicator's thread, and
// messages in flight (several tracks if they overlap).
#pragma once

#include <string>
#include <vector>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/io/file.h"
#include "gyre/train/parallel/traced_communicator.h"

namespace gyre {

struct RankTrace {
  int rank = 0;
  double zero = 0;  // start of the trace on the rank's clock: the same moment on all ranks
  std::vector<Span> spans;
  std::vector<Exchange> exchanges;
};

// Returns the events of a rank as text, which can be sent to another rank. write_trace() combines the events of all
// ranks into one trace.
std::string trace_events(const RankTrace& trace);
void write_trace(const Path& output, const std::vector<std::string>& events_of_ranks);

}  // namespace gyre
