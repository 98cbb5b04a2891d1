#include "tools/process_setup.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cores.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/sizes.h"

namespace gyre {
namespace {

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

// The first file that is opened would take the place of a closed stream (gyre train <&- >&- 2>&-), and messages would
// go into it. As with a closed stream, reading standard input and writing standard output fail.
void open_closed_streams() {
  constexpr std::array kModes{O_WRONLY, O_RDONLY, O_WRONLY};
  for (int stream = 0; stream < int(kModes.size()); ++stream) {
    if (fcntl(stream, F_GETFD) == -1 && errno == EBADF) open("/dev/null", kModes[size_t(stream)]);
  }
}

// By default, idle OpenMP threads spin for milliseconds. On shared cores the spinning starves the thread that has work
// (measured: 30 times slower with libgomp). GOMP_SPINCOUNT limits it for GCC's library, KMP_BLOCKTIME for Clang's.
// Returns whether the environment has changed.
bool limit_spinning() {
  if (is_set("OMP_WAIT_POLICY") || (is_set("GOMP_SPINCOUNT") && is_set("KMP_BLOCKTIME"))) return false;
  setenv("GOMP_SPINCOUNT", "1000", 0);
  setenv("KMP_BLOCKTIME", "20us", 0);
  return true;
}

// If one of these variables asks for it, the OpenMP library has bound this thread to the first of its places before
// main(). All threads that it starts itself, such as those that read data and exchange gradients, would stay on that
// core, and the ranks of a machine would all be bound to the same cores. Gives the process the cores of all places, and
// leaves the binding of ranks to mpirun. Returns whether the environment has changed.
bool undo_binding() {
  constexpr std::array kVariables{"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
  if (std::none_of(kVariables.begin(), kVariables.end(), is_set)) return false;
  const std::vector<int> cpus = allowed_cpus();
  const auto count = size_t(cpus.back()) + 1;
  cpu_set_t* const set = CPU_ALLOC(count);
  CPU_ZERO_S(CPU_ALLOC_SIZE(count), set);
  for (const int cpu : cpus) CPU_SET_S(size_t(cpu), CPU_ALLOC_SIZE(count), set);
  sched_setaffinity(0, CPU_ALLOC_SIZE(count), set);
  CPU_FREE(set);
  for (const char* variable : kVariables) unsetenv(variable);
  return true;
}

}  // namespace

void set_up_process(char** argv) {
  open_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that reaches the limit of ulimit -f is then a failed write, not the end
  const bool spins_less = limit_spinning(), is_unbound = undo_binding();
  if (!spins_less && !is_unbound) return;
  // The OpenMP library reads its variables when it is loaded. The real path makes ps show the program's name.
  std::error_code error;
  execv(std::filesystem::read_symlink("/proc/self/exe", error).c_str(), argv);
  // If execv failed, the program continues as it is.
}

// The OpenMP library accepts any number from OMP_NUM_THREADS and crashes if the system cannot create the threads.
void set_default_threads() {
  if (threads() > kMaxThreads) throw UsageError("OMP_NUM_THREADS: expected at most ", kMaxThreads, ", got ", threads());
  const char* const given = std::getenv("OMP_NUM_THREADS");
  const bool is_given = given != nullptr && *given != '\0';
  set_threads(is_given ? threads() : std::min(kMaxThreads, share_of_cores({cores_of_process()}, 0)));
}

}  // namespace gyre
