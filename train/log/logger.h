// spdlog's default logger for a run: the console (stderr) and the run's train.log.
#pragma once

#include "core/file.h"

namespace gyre {

struct LogOptions {
  Path file;  // empty: console only
  int rank = 0;
  int ranks = 1;
  bool quiet = false;  // the console shows warnings and errors only; the file still gets everything
};

// Rank 0 logs from level info on, the others from warning on. Several ranks append to the same file, so each line names
// its rank.
// "[2026-01-31 12:00:00] [info] [rank 0/4] message"; a single process leaves the rank out. Afterwards use
// spdlog::info(...) and the like.
void set_up_logging(const LogOptions& options);

}  // namespace gyre
