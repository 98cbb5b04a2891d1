#include "gyre/train/parallel/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
#include "gyre/train/parallel/launcher.h"

namespace gyre {

const char* to_string(Phase phase) { return kPhaseNames.at(size_t(phase)); }

bool may_take_long(Phase phase) {
  return phase == Phase::start || phase == Phase::validation || phase == Phase::checkpoint;
}

std::string to_string(const StatusSnapshot& status) {
  return concat(to_string(status.phase), " of update ", status.update, " for ", int64_t(status.seconds), " s");
}

void RankStatus::enter(Phase phase, uint64_t update) {
  phase_ = phase;
  update_ = update;
  since_ = steady_seconds();
  if (observer_) observer_(phase, update);
}

StatusSnapshot RankStatus::now() const {
  return {.update = update_, .seconds = steady_seconds() - since_, .phase = phase_};
}

namespace {

// Microseconds before a rank reports its failure. If all ranks fail alike (for example, on a missing file), a single
// report is enough: rank 0 reports at once, and its abort ends the other ranks while they wait. The delay grows with
// the rank up to rank 10.
unsigned patience(int rank) { return rank == 0 ? 0 : 1'000'000 + 100'000 * unsigned(std::min(rank, 10)); }

}  // namespace

void end_job(Communicator& ranks, int failed, const std::string& message, int status) {
  usleep(patience(ranks.rank()));
  std::fprintf(stderr, "gyre: [rank %d of %d] %s\n", failed, ranks.size(), printable_message(message).c_str());
  std::fflush(stderr);
  ranks.abort(status);
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

// A single process may be limited to some cores of its machine for good reason: only a quota, which programs that count
// cores do not see, is worth a line.
std::string SelfCommunicator::core_note() const {
  const ProcessCores own = cores_of_process();
  return describe_idle_cores({own}, 0, int(own.cpus.size()));
}

std::unique_ptr<Communicator> make_communicator() {
  const Launch launch = launch_of_process();
  std::unique_ptr<Communicator> ranks;
  if (launch.has_mpi) {
    ranks = make_mpi_communicator();
  } else {
    ranks = std::make_unique<SelfCommunicator>();
  }
  if (launch.processes > 1 && ranks->size() == 1) {
    const std::string library = mpi_library();
    throw UsageError(unconnected_message(launch, library.substr(0, library.find(','))));
  }
  return ranks;
}

int with_communicator(const std::function<int(Communicator&)>& body) {
  const std::unique_ptr<Communicator> ranks = make_communicator();
  if (ranks->size() == 1) return body(*ranks);
  try {
    const int status = body(*ranks);
    ranks->barrier();  // no rank leaves while another may still fail
    return status;
  } catch (const UsageError& e) {
    end_job(*ranks, ranks->rank(), e.what(), 2);
  } catch (const RankError& e) {
    end_job(*ranks, e.rank(), e.what(), 1);
  } catch (const std::exception& e) {
    end_job(*ranks, ranks->rank(), e.what(), 1);
  }
  return 1;
}

}  // namespace gyre
