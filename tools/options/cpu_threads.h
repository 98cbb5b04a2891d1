// --cpu-threads for commands other than training jobs.
#pragma once

#include "tools/command_line/option_table.h"

namespace gyre {

class CpuThreads {
 public:
  void add_row(OptionTable& table, const std::string& more_names = {}) {
    table.add("--cpu-threads,--threads" + more_names, threads_, "THREADS",
              "number of threads; 0: all cores, or OMP_NUM_THREADS");
  }
  // Applies the given number of threads; 0 keeps the default. Throws UsageError for a negative number.
  void use() const;
  // Likewise, for a rank with so many cores: choose_threads() has the default.
  void use(int cores) const;

 private:
  int threads_ = 0;
};

}  // namespace gyre
