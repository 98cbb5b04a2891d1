// Launchers by the environment variables that they set.
#include "gyre/train/parallel/launcher.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace gyre;

namespace {

// Sets these variables of launchers, and no others, while it exists.
class LauncherEnvironment {
 public:
  explicit LauncherEnvironment(const std::vector<std::pair<const char*, const char*>>& variables) {
    for (size_t i = 0; i < kNames.size(); ++i) {
      if (const char* value = getenv(kNames[i])) before_[i] = value;
      unsetenv(kNames[i]);
    }
    for (const auto& [name, value] : variables) setenv(name, value, 1);
  }
  ~LauncherEnvironment() {
    for (size_t i = 0; i < kNames.size(); ++i) {
      if (before_[i]) {
        setenv(kNames[i], before_[i]->c_str(), 1);
      } else {
        unsetenv(kNames[i]);
      }
    }
  }
  LauncherEnvironment(const LauncherEnvironment&) = delete;
  LauncherEnvironment& operator=(const LauncherEnvironment&) = delete;

 private:
  static constexpr std::array kNames{"MV2_COMM_WORLD_SIZE",
                                     "MV2_COMM_WORLD_RANK",
                                     "OMPI_COMM_WORLD_SIZE",
                                     "OMPI_COMM_WORLD_RANK",
                                     "PMI_SIZE",
                                     "PMI_RANK",
                                     "PMIX_RANK",
                                     "SLURM_STEP_NUM_TASKS",
                                     "SLURM_PROCID",
                                     "SLURM_NTASKS"};
  std::array<std::optional<std::string>, kNames.size()> before_;
};

}  // namespace

TEST_CASE("the launcher, its number of processes and the number of this one") {
  struct Case {
    std::vector<std::pair<const char*, const char*>> variables;
    std::string launcher;
    int processes, process;
    bool has_mpi;
  };
  const std::vector<Case> cases{
      {{}, "", 1, 0, false},
      {{{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_RANK", "3"}}, "mpirun", 4, 3, true},
      // A job of Slurm: its batch script, tasks without and with PMI, and mpirun, whose daemons srun has started.
      {{{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}, "", 1, 0, false},
      {{{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}}, "srun", 4, 2, false},
      {{{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}, {"PMIX_RANK", "2"}}, "srun", 4, 2, true},
      {{{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "1"}, {"PMI_SIZE", "4"}, {"PMI_RANK", "1"}},
       "srun",
       4,
       1,
       true},
      {{{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}, "srun", 1, 0, false},
      {{{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}, {"OMPI_COMM_WORLD_SIZE", "1"}}, "mpirun", 1, 0, true},
      {{{"MV2_COMM_WORLD_SIZE", "2"}, {"MV2_COMM_WORLD_RANK", "1"}}, "mpirun_rsh", 2, 1, true},
      {{{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}, "mpiexec", 2, 1, true},
      {{{"PMI_RANK", "0"}}, "", 1, 0, true},
      {{{"SLURM_STEP_NUM_TASKS", "none"}}, "", 1, 0, false},
  };
  for (const Case& of : cases) {
    const LauncherEnvironment environment(of.variables);
    const Launch launch = launch_of_process();
    CAPTURE(of.variables.size());
    CHECK(launch.launcher == of.launcher);
    CHECK(launch.processes == of.processes);
    CHECK(launch.process == of.process);
    CHECK(launch.has_mpi == of.has_mpi);
  }
}

TEST_CASE("the error of separate processes says how to connect them") {
  const auto message = [](const char* launcher, const char* library) {
    return unconnected_message({launcher, "SLURM_STEP_NUM_TASKS", 4, 2, false}, library);
  };
  CHECK(
      doctest::String(message("srun", "Open MPI v4.1.4").c_str()) ==
      doctest::Contains("got 4 separate processes, of which this is number 2: srun offers no PMI that this MPI library "
                        "(Open MPI v4.1.4) uses: start the job by srun --mpi=pmix (srun --mpi=list shows"));
  CHECK(doctest::String(message("mpiexec", "Open MPI v4.1.4").c_str()) == doctest::Contains("belongs to another MPI"));
  CHECK(doctest::String(message("srun", "none").c_str()) == doctest::Contains("this build has no MPI"));
}
