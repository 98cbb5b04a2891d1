#include "gyre/train/parallel/mpi/mpi.h"

#include <array>

#include "gyre/core/error.h"
#include "gyre/train/parallel/mpi/mpi_communicator.h"
#include "gyre/train/parallel/mpi_support.h"

namespace gyre {

void check_mpi(int code, const char* expression) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0, rank = 0;
  MPI_Error_string(code, text.data(), &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  throw Error("[mpi] rank ", rank, ": ", expression, ": ", std::string(text.data(), size_t(length)));
}

std::unique_ptr<Communicator> make_mpi_communicator() { return std::make_unique<MpiCommunicator>(); }

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data());
  return version.substr(0, version.find('\n'));  // some libraries append their build options
}

}  // namespace gyre
