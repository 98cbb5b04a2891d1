// Sets up spdlog's default logger for a run, which writes to the console (stderr) and to the run's train.log.
#pragma once

#include "gyre/core/io/file.h"

namespace gyre {

struct LogOptions {
  Path file;  // empty: console only
  int rank = 0;
  int ranks = 1;
  bool quiet = false;  // the console shows only warnings and errors; the file still gets all messages
};

// Replaces the default logger: call it before spdlog::info() and the like. Rank 0 logs from level info on, other ranks
// from level warning on. Several ranks append to the same file, so each line names its rank; a single process omits it.
//   [2026-01-31 12:00:00] [info] [rank 0/4] message
// Throws an Error if the file cannot be opened.
void set_up_logging(const LogOptions& options);

}  // namespace gyre
