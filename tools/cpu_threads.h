// --cpu-threads: the threads of a command that is no training job.
#pragma once

#include "tools/option_table.h"

namespace gyre {

class CpuThreads {
 public:
  void add_row(OptionTable& table, const std::string& more_names = {}) {
    table.add("--cpu-threads,--threads" + more_names, threads_, "THREADS", "0: all cores");
  }
  // Sets the number that was asked for. Throws UsageError.
  void use() const;
  // The same for a rank that has so many cores.
  void use(int cores) const;

 private:
  int threads_ = 0;
};

}  // namespace gyre
