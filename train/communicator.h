// Ranks that work on one job: one process (SelfCommunicator, no MPI is started) or many over MPI. Callers never ask
// which. From barrier() on all methods but progress and abort are collective: every rank calls them in the same order,
// from the thread that made the communicator. A failure throws an Error that names the call and the rank; so does
// waiting for longer than the hang timeout, and it names the ranks that have not come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "train/whereabouts.h"

namespace gyre {

// The numbers of the cores on which this process may run: at least one.
std::vector<int> allowed_cpus();

// Memory in as many neighbouring pieces as there are ranks: piece r is [ends[r - 1], ends[r]) of the elements.
template <class T>
struct Pieces {
  T* data = nullptr;
  std::vector<int64_t> ends;
  int64_t begin(int rank) const { return rank == 0 ? 0 : ends[size_t(rank) - 1]; }
  int64_t size(int rank) const { return ends[size_t(rank)] - begin(rank); }
  std::span<T> piece(int rank) const { return {data + begin(rank), size_t(size(rank))}; }
};

// An error of one rank that all ranks have agreed on: every rank throws it at the same place.
class RankError : public Error {
 public:
  RankError(int rank, const std::string& message) : Error(message), rank_(rank) {}
  int rank() const { return rank_; }  // whose it was

 private:
  int rank_;
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int node_ranks() const = 0;         // ranks on this rank's machine
  virtual int local_rank() const = 0;         // number among them
  virtual bool takes_gpu_memory() const = 0;  // in start_all_reduce
  virtual int cores() const = 0;  // that this rank may run on; those that several ranks may use are shared fairly
  virtual std::string name() const = 0;

  // Where this rank is, and since when.
  bool enter(Phase phase, uint64_t update) { return whereabouts_.enter(phase, update); }
  const Whereabouts& whereabouts() const { return whereabouts_; }
  // 0: ranks wait for ever. Slow ranks are waited for: those that answer, and go from phase to phase within that time
  // (ten times as long for phases that take time).
  virtual void set_hang_timeout(double seconds) = 0;

  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  template <class T>
  void broadcast(std::span<T> values, int root) {
    broadcast(std::as_writable_bytes(values), root);
  }

  std::string broadcast_text(std::string text, int root);

  // Sums over the ranks, in place, the same bits on every rank.
  virtual void all_reduce(std::span<double> values) = 0;
  virtual void all_reduce(std::span<int64_t> values) = 0;

  // The texts of all ranks in rank order on `root`, nothing elsewhere.
  virtual std::vector<std::string> gather(const std::string& text, int root) = 0;

  // In the background, at most kMostStarted elements a call: what is given must not be touched before `then` was
  // called, or finish() has returned. Those of one kind end in the order of their starts, each with its `then`, which
  // may start others, is called on any thread, and by one thread at a time.
  static constexpr int64_t kMostStarted = int64_t{1} << 28;
  using Then = std::function<void()>;
  virtual void start_all_reduce(std::span<float> values, Then then) = 0;  // sums, in place
  // Piece r of what this rank sends goes to rank r; piece r of what it receives comes from rank r.
  virtual void start_all_to_all(const Pieces<const std::byte>& send, const Pieces<std::byte>& receive, Then then) = 0;
  virtual void start_all_gather(const Pieces<std::byte>& pieces, Then then) = 0;  // piece r is rank r's, for all
  // Calls `f` while no `then` is called.
  virtual void undisturbed(const std::function<void()>& f) = 0;
  // Moves what was started along. A thread of the communicator's does the same while no method is called.
  virtual void progress() = 0;
  // Waits for all that was started, also by `then`.
  virtual void finish() = 0;

  // Ends all ranks after a failure of this one; returns only when there is one process.
  virtual void abort(int status) noexcept = 0;

 private:
  Whereabouts whereabouts_;
};

class SelfCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int node_ranks() const override { return 1; }
  int local_rank() const override { return 0; }
  bool takes_gpu_memory() const override { return true; }
  int cores() const override { return int(allowed_cpus().size()); }
  std::string name() const override { return "one process"; }
  void set_hang_timeout(double) override {}
  void barrier() override {}
  using Communicator::broadcast;
  void broadcast(std::span<std::byte>, int) override {}
  void all_reduce(std::span<double>) override {}
  void all_reduce(std::span<int64_t>) override {}
  std::vector<std::string> gather(const std::string& text, int) override { return {text}; }
  void start_all_reduce(std::span<float>, Then then) override { then(); }
  void start_all_to_all(const Pieces<const std::byte>& send, const Pieces<std::byte>& receive, Then then) override;
  void start_all_gather(const Pieces<std::byte>&, Then then) override { then(); }
  void undisturbed(const std::function<void()>& f) override { f(); }
  void progress() override {}
  void finish() override {}
  void abort(int) noexcept override {}
};

// MPI when the process was launched by mpirun or srun, else one process.
std::unique_ptr<Communicator> make_communicator(int* argc, char*** argv);

// Runs `body` on this process's communicator and returns its exit status. With one process an exception passes through
// to the caller. With several, the first rank that throws prints its error and ends all of them, non-zero.
int with_communicator(int* argc, char*** argv, const std::function<int(Communicator&)>& body);

}  // namespace gyre
