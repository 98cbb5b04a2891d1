// The interface of MPI for the rest of the program: train/parallel/mpi in a build with MPI (the default), else
// train/parallel/no_mpi.cpp (cmake -DGYRE_MPI=OFF).
#pragma once

#include <memory>
#include <string>

#include "gyre/train/parallel/communicator.h"

namespace gyre {

// The communicator of a process that mpirun or srun started. In a build without MPI it is that of one process.
std::unique_ptr<Communicator> make_mpi_communicator();

// The MPI library and its version, in one line; "none" in a build without MPI. Can be called before MPI_Init.
std::string mpi_library();

}  // namespace gyre
