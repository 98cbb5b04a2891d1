// Includes <mpi.h> without the C++ bindings that MPI has removed (their headers do not compile cleanly), and checks the
// error codes of MPI calls.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace gyre {

// Throws an Error with the rank, the call and MPI's error text unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* expression);
#define GYRE_MPI(call) ::gyre::check_mpi(call, #call)
}  // namespace gyre
