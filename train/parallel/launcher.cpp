#include "gyre/train/parallel/launcher.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "gyre/core/error.h"

namespace gyre {
namespace {

// The variables that a launcher sets in the processes that it starts.
struct LauncherVariables {
  const char *launcher, *processes, *process;
};

// In order: an mpirun inside of a Slurm job starts its daemons by srun, so that its processes have variables of both.
constexpr std::array kLaunchers{LauncherVariables{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                LauncherVariables{"mpirun_rsh", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
                                LauncherVariables{"mpiexec", "PMI_SIZE", "PMI_RANK"},
                                LauncherVariables{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
// Those of the launchers and interfaces through which MPI libraries connect the processes.
constexpr std::array kInterfaces{"OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PMI_RANK"};

// `otherwise` if the variable is not set to a number.
int number_of(const char* variable, int otherwise) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return otherwise;
  const std::string_view text(value);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

}  // namespace

Launch launch_of_process() {
  Launch launch;
  launch.has_mpi = std::any_of(kInterfaces.begin(), kInterfaces.end(),
                               [](const char* name) { return std::getenv(name) != nullptr; });
  for (const LauncherVariables& of : kLaunchers) {
    const int processes = number_of(of.processes, 0);
    if (processes < 1) continue;
    const bool is_slurm =
        std::getenv("SLURM_STEP_NUM_TASKS") != nullptr && of.processes == std::string_view("PMI_SIZE");
    launch.launcher = is_slurm ? "srun" : of.launcher;  // srun --mpi=pmi2 sets the variables of PMI
    launch.variable = of.processes;
    launch.processes = processes;
    launch.process = number_of(of.process, 0);
    break;
  }
  return launch;
}

std::string unconnected_message(const Launch& launch, const std::string& library) {
  const std::string seen =
      concat("[", launch.launcher, "] expected a job of ", launch.processes, " ranks (", launch.variable, "), got ",
             launch.processes, " separate processes, of which this is number ", launch.process, ": ");
  std::string remedy = concat(launch.launcher, " belongs to another MPI library than this program (", library, ")");
  if (library == "none") {
    remedy =
        "this build has no MPI (GYRE_MPI=OFF) and runs as one process: start gyre without mpirun or srun, or build it "
        "with MPI";
  } else if (launch.launcher == "srun") {
    remedy =
        concat("srun offers no PMI that this MPI library (", library,
               ") uses: start the job by srun --mpi=pmix (srun --mpi=list shows what this Slurm has) or by mpirun");
  }
  return concat(seen, remedy, "; to train in each process alone, unset ", launch.variable);
}

std::string not_parallel_message(const Launch& launch, const std::string& command) {
  return concat("gyre ", command, " runs as one process, and ", launch.launcher, " started ", launch.processes,
                ": start it without ", launch.launcher, "; to let each process work alone, unset ", launch.variable);
}

}  // namespace gyre
