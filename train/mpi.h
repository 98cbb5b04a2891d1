// <mpi.h> without the C++ bindings that MPI dropped: their headers do not compile cleanly.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

namespace gyre {

// Throws an Error that names the rank, the call and MPI's reason where `code` is not MPI_SUCCESS.
void check_mpi(int code, const char* expression);
#define GYRE_MPI(call) ::gyre::check_mpi(call, #call)

// The MPI library and its version, in one line. Works before MPI_Init.
std::string mpi_library();

}  // namespace gyre
