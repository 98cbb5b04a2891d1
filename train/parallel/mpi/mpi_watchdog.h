// Heartbeats between ranks: small messages on a separate MPI communicator, which every rank answers from its progress
// thread. A rank that was stopped or is cut off does not answer.
#pragma once

#include <optional>
#include <vector>

#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/mpi/mpi.h"

namespace gyre {

struct Heartbeat {
  uint64_t waits = 0;  // number of waits of the rank so far, including the current one: equal counts mean the same call
  bool waiting = false;
  StatusSnapshot snapshot;
};

class MpiWatchdog {
 public:
  // Constructor and destructor are collective.
  MpiWatchdog();
  ~MpiWatchdog();
  MpiWatchdog(const MpiWatchdog&) = delete;
  MpiWatchdog& operator=(const MpiWatchdog&) = delete;

  // Answers the pings received so far.
  void reply(const Heartbeat& own);
  // Sends a ping to all other ranks. Call collect_replies() repeatedly: it returns true once all have answered.
  void ping();
  bool collect_replies();
  // By rank; nullopt for this rank and for those that have not answered the last ping.
  const std::vector<std::optional<Heartbeat>>& heartbeats() const { return heartbeats_; }

  void announce_abort();  // tells all ranks that this rank reports its error and ends the job
  bool peer_aborted();    // whether another rank has announced an abort

 private:
  MPI_Comm ranks_ = MPI_COMM_NULL;
  int rank_ = 0;
  int64_t ping_id_ = 0;
  std::vector<std::optional<Heartbeat>> heartbeats_;
};

// Describes the ranks that keep a wait from ending: "rank 2 does not answer: it was stopped or is cut off; rank 3 is in
// forward of update 12 for 61 s". `waits`: number of waits of the rank `asker`.
std::string describe_missing(const std::vector<std::optional<Heartbeat>>& heartbeats, int asker, uint64_t waits);
// The longest time in a phase that is not a stall: `timeout`, or ten times as long for the phases of may_take_long().
double longest_phase(Phase phase, double timeout);
// Whether all missing ranks are merely slow: each of them answers and has been in its phase for less than `seconds`
// (ten times as long for the phases of may_take_long()). If all ranks have arrived, at least one must have entered its
// phase within that time.
bool is_making_progress(const std::vector<std::optional<Heartbeat>>& heartbeats, int asker, uint64_t waits,
                        double seconds);

}  // namespace gyre
