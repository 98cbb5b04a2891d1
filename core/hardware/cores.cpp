#include "gyre/core/hardware/cores.h"

#include <omp.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <sstream>
#include <thread>

#include "gyre/core/number_text.h"

namespace gyre {
namespace {

// A set of CPUs of any size.
class CpuSet {
 public:
  explicit CpuSet(int cpus) : cpus_(cpus), set_(CPU_ALLOC(size_t(cpus))) { CPU_ZERO_S(bytes(), set_); }
  ~CpuSet() { CPU_FREE(set_); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;
  size_t bytes() const { return CPU_ALLOC_SIZE(size_t(cpus_)); }
  cpu_set_t* get() { return set_; }
  bool has(int cpu) const { return CPU_ISSET_S(size_t(cpu), bytes(), set_); }
  void add(int cpu) { CPU_SET_S(size_t(cpu), bytes(), set_); }
  int size() const { return cpus_; }

 private:
  int cpus_;
  cpu_set_t* set_;
};

// The affinity of the calling thread. Linux rejects a set that is too small for its number of CPUs.
std::vector<int> affinity() {
  constexpr int kMostCpus = 1 << 20;
  std::vector<int> cpus;
  for (int size = CPU_SETSIZE; cpus.empty() && size <= kMostCpus; size *= 2) {
    CpuSet set(size);
    if (sched_getaffinity(0, set.bytes(), set.get()) != 0) continue;
    for (int cpu = 0; cpu < size; ++cpu) {
      if (set.has(cpu)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

// The cores of OpenMP's places; empty if it does not bind threads.
std::vector<int> places() {
  if (omp_get_proc_bind() == omp_proc_bind_false) return {};
  std::set<int> cpus;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    cpus.insert(ids.begin(), ids.end());
  }
  return {cpus.begin(), cpus.end()};
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// A hierarchy of control groups that can limit CPU time: its mount point, and the group of this process.
struct Hierarchy {
  std::filesystem::path mount, group;
  bool is_v2 = false;
};

// The group's path, relative to the mount point. Containers see other paths than their host: a group outside of the
// mounted tree counts as its root.
std::filesystem::path relative_group(const std::string& group, const std::string& mounted) {
  const std::string base = mounted == "/" ? "" : mounted;
  const bool is_below = group.size() > base.size() && group.starts_with(base) && group[base.size()] == '/' &&
                        group.find("/..") == std::string::npos;
  return is_below ? group.substr(base.size() + 1) : std::string();
}

// From /proc/self/mountinfo (man 5 proc): ID PARENT MAJOR:MINOR ROOT MOUNT OPTIONS .. - TYPE SOURCE SUPEROPTIONS, and
// /proc/self/cgroup (man 7 cgroups): ID:CONTROLLERS:GROUP, with ID 0 and no controllers for v2.
std::vector<Hierarchy> hierarchies(const std::filesystem::path& root) {
  const auto has_cpu = [](const std::string& controllers) {
    const std::vector<std::string> names = split(controllers, ',');
    return std::find(names.begin(), names.end(), "cpu") != names.end();
  };
  std::string group_v1, group_v2;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) group_v2 = line.substr(second + 1);
    if (has_cpu(controllers)) group_v1 = line.substr(second + 1);
  }
  std::vector<Hierarchy> found;
  std::ifstream mounts(root / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> begin = split(line, ' '), end = split(line.substr(dash + 3), ' ');
    if (begin.size() < 6 || end.size() < 3) continue;
    const bool is_v2 = end[0] == "cgroup2";
    const std::string& group = is_v2 ? group_v2 : group_v1;
    if (group.empty() || (!is_v2 && (end[0] != "cgroup" || !has_cpu(end[2])))) continue;
    found.push_back({root / begin[4].substr(1), relative_group(group, begin[3]), is_v2});
  }
  return found;
}

// The quota of one group, in cores; 0: none.
double quota_of(const std::filesystem::path& group, bool is_v2) {
  double quota = 0, period = 0;
  if (is_v2) {
    std::ifstream(group / "cpu.max") >> quota >> period;  // "max 100000" without a quota
  } else {
    std::ifstream(group / "cpu.cfs_quota_us") >> quota;  // -1 without a quota
    std::ifstream(group / "cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

uint64_t identity(const std::filesystem::path& directory) {
  struct stat status {};
  ::stat(directory.c_str(), &status);
  return uint64_t(status.st_ino) ^ uint64_t(status.st_dev) << 48;
}

double users(const std::vector<ProcessCores>& machine, const std::function<bool(const ProcessCores&)>& uses) {
  return double(std::count_if(machine.begin(), machine.end(), uses));
}

double share_of_affinity(const std::vector<ProcessCores>& machine, size_t own) {
  double share = 0;
  for (const int cpu : machine[own].cpus) {
    share += 1 / users(machine, [cpu](const ProcessCores& process) {
               return std::binary_search(process.cpus.begin(), process.cpus.end(), cpu);
             });
  }
  return share;
}

// Infinite without a quota.
double share_of_quotas(const std::vector<ProcessCores>& machine, size_t own) {
  double share = std::numeric_limits<double>::infinity();
  for (const CpuQuota& quota : machine[own].quotas) {
    const double sharing = users(machine, [&quota](const ProcessCores& process) {
      return std::any_of(process.quotas.begin(), process.quotas.end(),
                         [&quota](const CpuQuota& of) { return of.group == quota.group; });
    });
    share = std::min(share, quota.cores / sharing);
  }
  return share;
}

// At the start of the program: OMP_NUM_THREADS, or the number of cores that OpenMP found.
const int kThreadsAtStart = omp_get_max_threads();

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> bound = places();
  return bound.empty() ? affinity() : bound;
}

// A thread of its own asks Linux for all CPUs and gets those that its cpuset allows.
std::vector<int> usable_cpus() {
  std::vector<int> usable;
  std::thread([&usable] {
    CpuSet all(1 << 16);
    for (int cpu = 0; cpu < all.size(); ++cpu) all.add(cpu);
    sched_setaffinity(0, all.bytes(), all.get());
    usable = affinity();
  }).join();
  return usable;
}

std::vector<CpuQuota> cpu_quotas(const std::filesystem::path& root) {
  std::vector<CpuQuota> quotas;
  for (const Hierarchy& hierarchy : hierarchies(root)) {
    std::filesystem::path group = hierarchy.group;
    for (bool at_top = false; !at_top; group = group.parent_path()) {
      at_top = group.empty();
      const std::filesystem::path directory = hierarchy.mount / group;
      if (const double cores = quota_of(directory, hierarchy.is_v2); cores > 0)
        quotas.push_back({cores, identity(directory)});
    }
  }
  return quotas;
}

ProcessCores cores_of_process() { return {allowed_cpus(), cpu_quotas()}; }

int share_of_cores(const std::vector<ProcessCores>& machine, size_t own) {
  const double quota = std::round(share_of_quotas(machine, own));
  return std::max(1, int(std::min(quota, share_of_affinity(machine, own) + 1e-9)));
}

std::string describe_idle_cores(const std::vector<ProcessCores>& machine, size_t own, int usable) {
  std::set<int> all;
  size_t uses = 0;
  for (const ProcessCores& process : machine) {
    all.insert(process.cpus.begin(), process.cpus.end());
    uses += process.cpus.size();
  }
  const bool is_shared = all.size() < uses;
  const bool is_alone = machine.size() == 1;
  const std::string processes = (is_alone ? "only rank" : counted(machine.size(), "rank")) + " of this machine";
  if (is_shared && omp_get_proc_bind() != omp_proc_bind_false)
    return concat("OMP_PROC_BIND or OMP_PLACES binds the threads of the ", processes, " to the same cores: unset them");
  if (int(all.size()) < usable)
    return concat(
        "the ", processes,
        is_shared  ? " share "
        : is_alone ? " runs on "
                   : " run on ",
        all.size(), " of its ", counted(usable, "core"),
        ": mpirun --bind-to none (in Slurm: --cpus-per-task) gives them all; taskset, numactl, OMP_PLACES and "
        "GOMP_CPU_AFFINITY limit them too");
  const double quota = share_of_quotas(machine, own);
  if (quota < share_of_affinity(machine, own))
    return concat("a CPU quota (cgroup) leaves ", machine.size() > 1 ? "this rank " : "", quota, " of the ",
                  counted(usable, "core"), " of this machine");
  return "";
}

ThreadChoice choose_threads(int asked, int cores) {
  const int limit = omp_get_thread_limit(), wanted = asked > 0 ? asked : std::min(cores, kThreadsAtStart);
  const auto why = [cores](const char* variable, int value, const char* remedy) {
    return concat(variable, "=", value, " limits this process to ", counted(value, "thread"), " on ",
                  counted(cores, "core"), ": ", remedy);
  };
  if (limit < wanted) return {limit, why("OMP_THREAD_LIMIT", limit, "unset it to use all")};
  if (asked > 0 || wanted == cores) return {wanted};
  return {wanted, why("OMP_NUM_THREADS", wanted, "unset it, or use --cpu-threads, for more")};
}

}  // namespace gyre
