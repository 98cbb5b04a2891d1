// The page of gyre report, which shows one training run or two side by side.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

// The HTML page of one or two run directories. It depends on their files only, not on the time. Throws UsageError if a
// directory is not that of a run, or if there are other numbers of runs, or the same run twice.
std::string run_report(const std::vector<Path>& runs);

}  // namespace gyre
