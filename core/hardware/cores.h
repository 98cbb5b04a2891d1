// The cores that this process may use: its CPU affinity, the CPU quotas of its control groups (cgroups), and the limits
// of OpenMP's environment variables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gyre {

// The indices of the cores on which this process may run, in increasing order; never empty. Where OpenMP binds threads
// to places (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY), these are the cores of all places: it has then bound the
// calling thread to the first one.
std::vector<int> allowed_cpus();

// The indices of the cores that this process could be given: those of its machine or container, whatever its affinity.
std::vector<int> usable_cpus();

// A limit on the CPU time that all processes of a control group have together.
struct CpuQuota {
  double cores = 0;    // CPU time per time: 1.5 cores
  uint64_t group = 0;  // identifies the group: its processes on a machine have the same number
};

// The quotas of the control groups of this process, from the innermost to the outermost: cpu.max of cgroup v2,
// cpu.cfs_quota_us of v1. `root` is that of the file system with /proc and /sys.
std::vector<CpuQuota> cpu_quotas(const std::filesystem::path& root = "/");

// The cores of a process among those that share its machine.
struct ProcessCores {
  std::vector<int> cpus;  // allowed_cpus()
  std::vector<CpuQuota> quotas;
};
ProcessCores cores_of_process();

// The number of threads that process `own` should have: a core that n of the processes may use counts 1/n, a quota that
// they share is divided among them, and its share is rounded to a whole number. At least 1.
int share_of_cores(const std::vector<ProcessCores>& machine, size_t own);

// One sentence for the log about cores that these processes, the ranks of a machine, leave idle, and what to set; empty
// if there are none. `usable`: the number of usable_cpus().
std::string describe_idle_cores(const std::vector<ProcessCores>& machine, size_t own, int usable);

// A number of threads. `limit` says in one sentence which variable makes it smaller than the number of cores; empty if
// none does.
struct ThreadChoice {
  int threads = 1;
  std::string limit{};
};
// For a process with so many cores: `asked` threads, or if that is 0 one per core, or OMP_NUM_THREADS if it is fewer.
// Never more than OMP_THREAD_LIMIT.
ThreadChoice choose_threads(int asked, int cores);

}  // namespace gyre
