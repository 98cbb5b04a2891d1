#include "gyre/train/parallel/mpi/mpi_watchdog.h"

#include <algorithm>

#include "gyre/core/error.h"

namespace gyre {
namespace {

enum Tag { kPing = 1, kReply, kEnd };

constexpr double kPatience = 10;  // factor of the watchdog timeout for the phases of may_take_long()

struct Message {  // a heartbeat as it is sent
  int64_t ping_id, waits, waiting, phase, update;
  double seconds;
};

bool has_arrived(const std::optional<Heartbeat>& heartbeat, uint64_t waits) {
  return heartbeat && heartbeat->waits >= waits;
}

}  // namespace

MpiWatchdog::MpiWatchdog() {
  int size = 0;
  GYRE_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &ranks_));
  GYRE_MPI(MPI_Comm_rank(ranks_, &rank_));
  GYRE_MPI(MPI_Comm_size(ranks_, &size));
  heartbeats_.resize(size_t(size));
}

MpiWatchdog::~MpiWatchdog() { MPI_Comm_free(&ranks_); }

void MpiWatchdog::reply(const Heartbeat& own) {
  for (;;) {
    int found = 0;
    MPI_Status status;
    GYRE_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kPing, ranks_, &found, &status));
    if (found == 0) return;
    int64_t ping_id = 0;
    GYRE_MPI(MPI_Recv(&ping_id, 1, MPI_INT64_T, status.MPI_SOURCE, kPing, ranks_, MPI_STATUS_IGNORE));
    const Message reply{ping_id,
                        int64_t(own.waits),
                        own.waiting ? 1 : 0,
                        int64_t(own.snapshot.phase),
                        int64_t(own.snapshot.update),
                        own.snapshot.seconds};
    GYRE_MPI(MPI_Send(&reply, sizeof reply, MPI_BYTE, status.MPI_SOURCE, kReply, ranks_));
  }
}

void MpiWatchdog::announce_abort() {
  for (int rank = 0; rank < int(heartbeats_.size()); ++rank) {
    MPI_Request never_waited_for = MPI_REQUEST_NULL;
    if (rank != rank_) GYRE_MPI(MPI_Isend(&ping_id_, 0, MPI_INT64_T, rank, kEnd, ranks_, &never_waited_for));
  }
}

bool MpiWatchdog::peer_aborted() {
  int found = 0;
  GYRE_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kEnd, ranks_, &found, MPI_STATUS_IGNORE));
  return found != 0;
}

void MpiWatchdog::ping() {
  ++ping_id_;
  for (int rank = 0; rank < int(heartbeats_.size()); ++rank) {
    heartbeats_[size_t(rank)].reset();
    if (rank != rank_) GYRE_MPI(MPI_Send(&ping_id_, 1, MPI_INT64_T, rank, kPing, ranks_));
  }
}

bool MpiWatchdog::collect_replies() {
  for (;;) {
    int found = 0;
    MPI_Status status;
    GYRE_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kReply, ranks_, &found, &status));
    if (found == 0) break;
    Message m{};
    GYRE_MPI(MPI_Recv(&m, sizeof m, MPI_BYTE, status.MPI_SOURCE, kReply, ranks_, MPI_STATUS_IGNORE));
    if (m.ping_id != ping_id_) continue;  // a late answer to an earlier ping
    heartbeats_[size_t(status.MPI_SOURCE)] =
        Heartbeat{uint64_t(m.waits), m.waiting != 0, {uint64_t(m.update), m.seconds, Phase(m.phase)}};
  }
  return std::count(heartbeats_.begin(), heartbeats_.end(), std::nullopt) == 1;  // only this rank's own is missing
}

std::string describe_missing(const std::vector<std::optional<Heartbeat>>& heartbeats, int asker, uint64_t waits) {
  std::string text;
  for (int rank = 0; rank < int(heartbeats.size()); ++rank) {
    const std::optional<Heartbeat>& heartbeat = heartbeats[size_t(rank)];
    if (rank == asker || has_arrived(heartbeat, waits)) continue;
    text += concat(text.empty() ? "" : "; ", "rank ", rank,
                   !heartbeat           ? " does not answer: it was stopped or is cut off"
                   : heartbeat->waiting ? concat(" waits for something else in ", to_string(heartbeat->snapshot))
                                        : concat(" is in ", to_string(heartbeat->snapshot)));
  }
  return text.empty() ? "all ranks have arrived: the network or the MPI library makes no progress" : text;
}

double longest_phase(Phase phase, double timeout) { return timeout * (may_take_long(phase) ? kPatience : 1); }

bool is_making_progress(const std::vector<std::optional<Heartbeat>>& heartbeats, int asker, uint64_t waits,
                        double seconds) {
  bool any_missing = false, all_missing_progress = true, any_has_just_arrived = false;
  for (int rank = 0; rank < int(heartbeats.size()); ++rank) {
    if (rank == asker) continue;
    const std::optional<Heartbeat>& heartbeat = heartbeats[size_t(rank)];
    const bool is_new = heartbeat && heartbeat->snapshot.seconds < longest_phase(heartbeat->snapshot.phase, seconds);
    if (has_arrived(heartbeat, waits)) {
      any_has_just_arrived |= is_new;
    } else {
      any_missing = true;
      all_missing_progress &= is_new;
    }
  }
  return any_missing ? all_missing_progress : any_has_just_arrived;
}

}  // namespace gyre
