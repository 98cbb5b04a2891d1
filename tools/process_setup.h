// Prepares the process of gyre: standard streams, signals, and what the OpenMP library has read from the environment.
#pragma once

namespace gyre {

// Call it first in main(). May execute the program again with other environment variables.
void set_up_process(char** argv);

// Sets the default number of threads. Throws UsageError if OMP_NUM_THREADS is too large.
void set_default_threads();

}  // namespace gyre
