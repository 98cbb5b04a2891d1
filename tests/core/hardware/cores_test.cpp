// Cores of a process: affinity, CPU quotas of control groups as files of cgroup v1 and v2, shares of several ranks.
#include "gyre/core/hardware/cores.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gyre/core/hardware/cuda.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

// A file system in which a process is in these control groups.
struct FakeSystem {
  FakeSystem(const std::string& cgroup, const std::string& mountinfo) {
    put("proc/self/cgroup", cgroup);
    put("proc/self/mountinfo", "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n" + mountinfo);
  }
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((directory / name).parent_path());
    write_file(directory / name, text);
  }
  std::vector<double> quotas() const {
    std::vector<double> cores;
    for (const CpuQuota& quota : cpu_quotas(directory.path())) cores.push_back(quota.cores);
    return cores;
  }
  TemporaryDirectory directory;
};

using Cores = std::vector<double>;

const std::string kV2 = "31 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

}  // namespace

TEST_CASE("a quota of cgroup v2 may be that of any group on the path") {
  const FakeSystem system("0::/user.slice/job/step\n", kV2);
  CHECK(system.quotas() == Cores{});
  system.put("sys/fs/cgroup/user.slice/cpu.max", "600000 100000\n");
  system.put("sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n");
  system.put("sys/fs/cgroup/user.slice/job/step/cpu.max", "max 100000\n");
  system.put("sys/fs/cgroup/user.slice/other/cpu.max", "10000 100000\n");
  CHECK(system.quotas() == Cores{1.5, 6});
}

TEST_CASE("a container sees its own group as the root of cgroup v2") {
  const FakeSystem system("0::/\n", kV2);
  system.put("sys/fs/cgroup/cpu.max", "50000 100000\n");
  CHECK(system.quotas() == Cores{0.5});
  const FakeSystem bound("0::/docker/abc\n", "31 22 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  bound.put("sys/fs/cgroup/cpu.max", "200000 100000\n");
  CHECK(bound.quotas() == Cores{2});
  const FakeSystem longer("0::/docker/abcd\n", "31 22 0:26 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  longer.put("sys/fs/cgroup/cpu.max", "200000 100000\n");
  longer.put("sys/fs/cgroup/d/cpu.max", "100000 100000\n");
  CHECK(longer.quotas() == Cores{2});
  const FakeSystem outside("0::/../../other\n", kV2);
  outside.put("sys/fs/cgroup/cpu.max", "300000 100000\n");
  CHECK(outside.quotas() == Cores{3});
}

TEST_CASE("a quota of cgroup v1, whose controllers have one hierarchy or several") {
  const std::string mounts =
      "32 22 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "33 22 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "41 22 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
  const FakeSystem system("5:cpuset:/\n4:cpu,cpuacct:/slurm/job_7\n0::/\n", mounts);
  system.put("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us", "-1\n");
  system.put("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_period_us", "100000\n");
  CHECK(system.quotas() == Cores{});
  system.put("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "500000\n");
  system.put("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "200000\n");
  CHECK(system.quotas() == Cores{2.5});
}

TEST_CASE("files of /proc that are missing or have another form give no quota") {
  for (const char* text : {"", "\n", "0:\n", "::\n", " - \n", "0::relative\n"}) {
    const FakeSystem system(text, text);
    CHECK(system.quotas() == Cores{});
  }
}

TEST_CASE("ranks divide the cores and the quotas that they share") {
  const ProcessCores first{{0, 1}, {}}, second{{2, 3}, {}}, all{{0, 1, 2, 3}, {}};
  CHECK(share_of_cores({all}, 0) == 4);
  CHECK(share_of_cores({first, second}, 1) == 2);
  CHECK(share_of_cores({all, all}, 0) == 2);
  CHECK(share_of_cores({all, all, all}, 2) == 1);
  CHECK(share_of_cores({first, all}, 1) == 3);
  CHECK(share_of_cores({{{0}, {}}, {{0}, {}}}, 1) == 1);
  const auto with = [](double cores, uint64_t group) {
    return ProcessCores{{0, 1, 2, 3, 4, 5, 6, 7}, {{cores, group}, {7, 1}}};
  };
  for (const auto& [cores, threads] :
       std::vector<std::pair<double, int>>{{0.2, 1}, {1.4, 1}, {1.5, 2}, {3.8, 4}, {20, 7}})
    CHECK(share_of_cores({with(cores, 2)}, 0) == threads);
  CHECK(share_of_cores({with(6, 2), with(6, 2)}, 0) == 3);
  CHECK(share_of_cores({with(6, 2), with(3, 3)}, 0) == 4);  // 7 / 2 of the common group
  CHECK(share_of_cores({with(6, 2), with(3, 3)}, 1) == 3);
}

TEST_CASE("idle cores are named, with what to set") {
  const ProcessCores one{{0}, {}}, two{{1}, {}}, both{{0, 1}, {}};
  CHECK(describe_idle_cores({both}, 0, 2).empty());
  CHECK(describe_idle_cores({one, two}, 0, 2).empty());
  CHECK(describe_idle_cores({both, both, both}, 0, 2).empty());  // more ranks than cores
  CHECK(describe_idle_cores({one, one}, 1, 2)
            .starts_with("the 2 ranks of this machine share 1 of its 2 cores: mpirun --bind-to none"));
  CHECK(describe_idle_cores({one, two}, 1, 8).starts_with("the 2 ranks of this machine run on 2 of its 8 cores: "));
  CHECK(describe_idle_cores({one}, 0, 2).starts_with("the only rank of this machine runs on 1 of its 2 cores: "));
  CHECK(describe_idle_cores({{{0, 1}, {{1.5, 7}}}}, 0, 2) ==
        "a CPU quota (cgroup) leaves 1.5 of the 2 cores of this machine");
  CHECK(describe_idle_cores({{{0}, {{1.5, 7}}}}, 0, 1).empty());
}

TEST_CASE("the usable cores contain the allowed ones") {
  const std::vector<int> allowed = allowed_cpus(), usable = usable_cpus();
  CHECK(!allowed.empty());
  CHECK(std::is_sorted(allowed.begin(), allowed.end()));
  CHECK(std::includes(usable.begin(), usable.end(), allowed.begin(), allowed.end()));
}

TEST_CASE("a rank takes the GPU of its number on the machine, or the only one that it sees") {
  CHECK(gpu_of_rank(0, 8) == 0);
  CHECK(gpu_of_rank(7, 8) == 7);
  CHECK(gpu_of_rank(3, 1) == 0);
  CHECK(gpu_of_rank(5, 4) == 1);
  CHECK(gpu_of_rank(2, 0) == 2);  // no GPU: the error names the one that is missing
}
