// Communication between the ranks of a job, and what each of them is doing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cores.h"
#include "gyre/train/parallel/shared_memory.h"

namespace gyre {

// The current phase of a rank. Ranks that wait for this one report it.
enum class Phase : uint8_t { start, data, forward, backward, reduction, optimizer, validation, checkpoint, end };
inline constexpr std::array kPhaseNames{"start",     "data",       "forward",    "backward", "reduction",
                                        "optimizer", "validation", "checkpoint", "end"};
// "data", "forward": completes "rank 2 is in ...".
const char* to_string(Phase phase);
// Whether a phase can take longer than a step: the phases outside of updates, in which one rank may work alone.
bool may_take_long(Phase phase);

// The status of a rank at one moment, in a form that can be sent.
struct StatusSnapshot {
  uint64_t update = 0;  // the number of the current update, from 1
  double seconds = 0;   // time since the rank entered the phase
  Phase phase = Phase::start;
};
// "backward of update 12 for 61 s".
std::string to_string(const StatusSnapshot& status);

using PhaseObserver = std::function<void(Phase phase, uint64_t update)>;

// Written by the rank's main thread, read by any thread.
class RankStatus {
 public:
  // Calls the observer after the status has changed; what the observer throws passes through.
  void enter(Phase phase, uint64_t update);
  void observe(PhaseObserver observer) { observer_ = std::move(observer); }
  StatusSnapshot now() const;

 private:
  std::atomic<Phase> phase_{Phase::start};
  std::atomic<uint64_t> update_{0};
  std::atomic<double> since_{0};
  PhaseObserver observer_;
};

// A buffer divided into one contiguous piece per rank: piece r is elements [ends[r - 1], ends[r]).
template <class T>
struct SplitBuffer {
  T* data = nullptr;
  std::vector<int64_t> ends;
  int64_t begin(int rank) const { return rank == 0 ? 0 : ends[size_t(rank) - 1]; }
  int64_t size(int rank) const { return ends[size_t(rank)] - begin(rank); }
  std::span<T> piece(int rank) const { return {data + begin(rank), size_t(size(rank))}; }
};

// An error of one rank that has been communicated to all ranks: every rank throws it at the same point.
class RankError : public Error {
 public:
  RankError(int rank, const std::string& message) : Error(message), rank_(rank) {}
  int rank() const { return rank_; }  // the rank that failed

 private:
  int rank_;
};

// Communication between the ranks of a job: a single process without MPI (SelfCommunicator) or many ranks over MPI
// (MpiCommunicator), with the same calls. All methods from barrier() on, except with_callbacks_paused(), progress(),
// watch() and abort(), are collective: every rank calls them in the same order, from the thread that created the
// communicator. A failed call throws an Error that names the call and the rank. A wait longer than the watchdog timeout
// throws an Error that names the ranks that have not arrived.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int local_rank() const = 0;                   // index of this rank among those on this node
  virtual int cores() const = 0;                        // cores for this rank (core/hardware/cores.h)
  virtual std::string core_note() const { return ""; }  // describe_idle_cores() of the ranks of this machine
  virtual Machines machines() const = 0;
  virtual std::string name() const = 0;

  // The phase that this rank is in, and since when. At most one observer is called on every change.
  void enter(Phase phase, uint64_t update) { rank_status_.enter(phase, update); }
  void observe_phases(PhaseObserver observer) { rank_status_.observe(std::move(observer)); }
  const RankStatus& rank_status() const { return rank_status_; }
  // Longest wait of a collective; 0 sets no limit. A slow rank is not an error: the wait continues as long as that rank
  // answers and changes its phase within this time (ten times as long for the phases of may_take_long()).
  virtual void set_watchdog_timeout(double seconds) = 0;

  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  template <class T>
  void broadcast(std::span<T> values, int root) {
    broadcast(std::as_writable_bytes(values), root);
  }

  std::string broadcast_text(std::string text, int root);

  // Sums over the ranks, in place. Every rank gets the same bits.
  virtual void all_reduce(std::span<double> values) = 0;
  virtual void all_reduce(std::span<int64_t> values) = 0;

  // Returns the texts of all ranks in rank order on `root`, and an empty vector on the other ranks.
  virtual std::vector<std::string> gather(const std::string& text, int root) = 0;

  // Nonblocking collectives of at most kMaxElementsPerCall elements. The caller must not access the buffers before
  // `callback` is called or finish() returns. Collectives of one kind complete in the order in which they were started,
  // and each then calls its `callback`: on any thread, but on one thread at a time. A callback may start further
  // collectives.
  static constexpr int64_t kMaxElementsPerCall = int64_t{1} << 28;
  using Callback = std::function<void()>;
  virtual void start_all_reduce(std::span<float> values, Callback callback) = 0;  // sums, in place
  // Piece r of `send` goes to rank r; piece r of `receive` comes from rank r.
  virtual void start_all_to_all(const SplitBuffer<const std::byte>& send, const SplitBuffer<std::byte>& receive,
                                Callback callback) = 0;
  // Every rank receives piece r from rank r.
  virtual void start_all_gather(const SplitBuffer<std::byte>& pieces, Callback callback) = 0;
  // Likewise for those pieces that `sends` selects. In the order of start_all_gather().
  using Sends = std::function<bool(int from, int to)>;
  virtual void start_partial_gather(const SplitBuffer<std::byte>& pieces, const Sends& sends, Callback callback) = 0;

  // Whether the ranks of each machine share memory. The first call is collective: it allocates the memory.
  virtual bool shares_memory() = 0;
  // Runs a task between the ranks of each machine, which start the tasks of a lane in the same order. Requires
  // shares_memory().
  enum class Lane : uint8_t { sums, gathers };
  virtual void start_shared(Lane lane, std::unique_ptr<WindowTask> task, Callback callback) = 0;
  // Calls `f` while no `callback` runs.
  virtual void with_callbacks_paused(const std::function<void()>& f) = 0;
  // Advances the started collectives. MpiCommunicator also has a progress thread that does so between calls.
  virtual void progress() = 0;
  // Waits for all started collectives, including those that callbacks start.
  virtual void finish() = 0;

  // Watches work that the ranks do together outside of these calls, such as the collectives of NCCL: from now on a
  // thread calls `are_done` about once a second. This rank ends the job if `are_done` throws, or if it returns false
  // while neither this rank nor those that it waits for enter another phase within the watchdog timeout; the error then
  // names `what`. There is one watch, which the next call
  // replaces and an empty function ends. With a single process nothing is watched.
  virtual void watch(std::string what, std::function<bool()> are_done) = 0;

  // Ends all ranks after a failure of this rank. Returns only if there is a single process.
  virtual void abort(int status) noexcept = 0;

 private:
  RankStatus rank_status_;
};

class SelfCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int cores() const override { return share_of_cores({cores_of_process()}, 0); }
  std::string core_note() const override;
  Machines machines() const override { return Machines({0}); }
  std::string name() const override { return "one process"; }
  void set_watchdog_timeout(double) override {}
  void barrier() override {}
  using Communicator::broadcast;
  void broadcast(std::span<std::byte>, int) override {}
  void all_reduce(std::span<double>) override {}
  void all_reduce(std::span<int64_t>) override {}
  std::vector<std::string> gather(const std::string& text, int) override { return {text}; }
  void start_all_reduce(std::span<float>, Callback callback) override { callback(); }
  void start_all_to_all(const SplitBuffer<const std::byte>& send, const SplitBuffer<std::byte>& receive,
                        Callback callback) override;
  void start_all_gather(const SplitBuffer<std::byte>&, Callback callback) override { callback(); }
  void start_partial_gather(const SplitBuffer<std::byte>&, const Sends&, Callback callback) override { callback(); }
  bool shares_memory() override { return false; }
  void start_shared(Lane, std::unique_ptr<WindowTask>, Callback) override;
  void with_callbacks_paused(const std::function<void()>& f) override { f(); }
  void progress() override {}
  void finish() override {}
  void watch(std::string, std::function<bool()>) override {}
  void abort(int) noexcept override {}
};

// Returns an MpiCommunicator if a launcher started the process (launcher.h), else a SelfCommunicator. Throws a
// UsageError if the launcher started several processes and MPI does not connect them.
std::unique_ptr<Communicator> make_communicator();

// Runs `body` with this process's communicator and returns its exit status. With one process, exceptions propagate to
// the caller. With several, the first rank that throws prints its error and ends all ranks with a non-zero status.
int with_communicator(const std::function<int(Communicator&)>& body);

// Prints the error of rank `failed`, after a time in which rank 0 may report the same, and ends all ranks of the job.
// May be called on any thread.
void end_job(Communicator& ranks, int failed, const std::string& message, int status);

// The communicator of a process that mpirun or srun started: train/parallel/mpi in a build with MPI (the default), else
// train/parallel/no_mpi.cpp (cmake -DGYRE_MPI=OFF). In a build without MPI it is that of one process.
std::unique_ptr<Communicator> make_mpi_communicator();

// The MPI library and its version, in one line; "none" in a build without MPI. Can be called before MPI_Init.
std::string mpi_library();

}  // namespace gyre
