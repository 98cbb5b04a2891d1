// A build without MPI: one process only.
#include <array>
#include <cstdlib>
#include <string_view>

#include "gyre/core/error.h"
#include "gyre/train/parallel/mpi_support.h"

namespace gyre {
namespace {

bool is_only_process() {
  constexpr std::array sizes{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
  for (const char* name : sizes) {
    const char* size = std::getenv(name);
    if (size != nullptr) return std::string_view(size) == "1";
  }
  return false;
}

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator() {
  if (is_only_process()) return std::make_unique<SelfCommunicator>();
  throw UsageError(
      "[mpi] this build has no MPI (GYRE_MPI=OFF) and runs as one process: start gyre without mpirun or srun, or build "
      "it with MPI");
}

std::string mpi_library() { return "none"; }

}  // namespace gyre
