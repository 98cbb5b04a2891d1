// A build without MPI: one process only.
#include "gyre/train/parallel/communicator.h"

namespace gyre {

std::unique_ptr<Communicator> make_mpi_communicator() { return std::make_unique<SelfCommunicator>(); }

std::string mpi_library() { return "none"; }

}  // namespace gyre
