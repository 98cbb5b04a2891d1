// The launcher that started this process as one of several: mpirun, mpirun_rsh, mpiexec or srun. Known from the
// environment, before MPI is initialized.
#pragma once

#include <string>

namespace gyre {

struct Launch {
  std::string launcher{};  // "mpirun", "srun"; empty: none is known
  std::string variable{};  // the environment variable with the number of processes; empty if none has it
  int processes = 1;       // number of processes that the launcher started
  int process = 0;         // index of this process, from 0
  bool has_mpi = false;    // the launcher offers to connect the processes: MPI can be initialized
};
Launch launch_of_process();

// The error of a process that the launcher started as one of several, and that MPI sees alone. `library`:
// mpi_library().
std::string unconnected_message(const Launch& launch, const std::string& library);

// The error of the first process of a command (such as "translate") that does not divide its work among processes.
std::string not_parallel_message(const Launch& launch, const std::string& command);

}  // namespace gyre
