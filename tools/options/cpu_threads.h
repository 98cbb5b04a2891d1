// --cpu-threads for commands other than training jobs.
#pragma once

#include "tools/command_line/option_table.h"

namespace gyre {

class CpuThreads {
 public:
  void add_row(OptionTable& table, const std::string& more_names = {}) {
    table.add("--cpu-threads,--threads" + more_names, threads_, "THREADS", "number of threads; 0: all cores");
  }
  // Applies the given number of threads; 0 keeps the default. Throws UsageError for a negative number.
  void use() const;
  // Likewise, with `cores` as the default of this rank.
  void use(int cores) const;

 private:
  int threads_ = 0;
};

}  // namespace gyre
