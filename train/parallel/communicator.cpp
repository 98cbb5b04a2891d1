#include "gyre/train/parallel/communicator.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "gyre/core/error.h"
#include "gyre/train/parallel/mpi_support.h"

namespace gyre {
namespace {

// Microseconds before a rank reports its failure. If all ranks fail alike (for example, on a missing file), a single
// report is enough: rank 0 reports at once, and its abort ends the other ranks while they wait. The delay grows with
// the rank up to rank 10.
unsigned patience(int rank) { return rank == 0 ? 0 : 1'000'000 + 100'000 * unsigned(std::min(rank, 10)); }

// `rank`: the rank that failed.
void end_all(Communicator& ranks, int rank, const std::string& message, int status) {
  usleep(patience(ranks.rank()));
  std::fprintf(stderr, "gyre: [rank %d of %d] %s\n", rank, ranks.size(), message.c_str());
  std::fflush(stderr);
  ranks.abort(status);
}

}  // namespace

std::vector<int> allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);  // cpu_set_t is too small for the number of cores
  return cpus;
}

std::string Communicator::broadcast_text(std::string text, int root) {
  auto length = uint64_t(text.size());
  broadcast(std::span<uint64_t>(&length, 1), root);
  text.resize(length);
  broadcast(std::span<char>(text), root);
  return text;
}

void SelfCommunicator::start_all_to_all(const SplitBuffer<const std::byte>& send, const SplitBuffer<std::byte>& receive,
                                        Callback callback) {
  std::copy_n(send.data, send.size(0), receive.data);
  callback();
}

void SelfCommunicator::start_shared(Lane, std::unique_ptr<WindowTask>, Callback) {
  throw Error("[communicator] start_shared: one process shares no memory");
}

bool launched_by_mpi() {
  constexpr std::array launchers{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PMI_RANK"};
  return std::any_of(launchers.begin(), launchers.end(), [](const char* name) { return std::getenv(name) != nullptr; });
}

std::unique_ptr<Communicator> make_communicator() {
  if (launched_by_mpi()) return make_mpi_communicator();
  return std::make_unique<SelfCommunicator>();
}

int with_communicator(const std::function<int(Communicator&)>& body) {
  const std::unique_ptr<Communicator> ranks = make_communicator();
  if (ranks->size() == 1) return body(*ranks);
  try {
    const int status = body(*ranks);
    ranks->barrier();  // no rank leaves while another may still fail
    return status;
  } catch (const UsageError& e) {
    end_all(*ranks, ranks->rank(), e.what(), 2);
  } catch (const RankError& e) {
    end_all(*ranks, e.rank(), e.what(), 1);
  } catch (const std::exception& e) {
    end_all(*ranks, ranks->rank(), e.what(), 1);
  }
  return 1;
}

}  // namespace gyre
