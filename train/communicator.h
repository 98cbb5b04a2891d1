// Ranks that work on one job: one process (SelfCommunicator, no MPI is started) or many over MPI. Callers never ask
// which. From barrier() on all methods but send, receive and abort are collective: every rank calls them in the same
// order, from the thread that made the communicator. A failure throws an Error that names the call and the rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gyre {

// The numbers of the cores on which this process may run: at least one.
std::vector<int> allowed_cpus();

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

  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  template <class T>
  void broadcast(std::span<T> values, int root) {
    broadcast(std::as_writable_bytes(values), root);
  }

  // Sums over the ranks, in place, the same bits on every rank.
  virtual void all_reduce(std::span<double> values) = 0;
  virtual void all_reduce(std::span<int64_t> values) = 0;

  // The same, in the background: `values` must not be touched before finish_all_reduces(). progress() moves the pending
  // ones along and returns whether any is left.
  virtual void start_all_reduce(std::span<float> values) = 0;
  virtual bool progress() = 0;
  virtual void finish_all_reduces() = 0;

  // Between two ranks; blocking.
  virtual void send(std::span<const float> values, int to) = 0;
  virtual void receive(std::span<float> values, int from) = 0;

  // The texts of all ranks in rank order on `root`, nothing elsewhere.
  virtual std::vector<std::string> gather(const std::string& text, int root) = 0;

  // Ends all ranks after a failure of this one; returns only when there is one process.
  virtual void abort(int status) noexcept = 0;
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
  void barrier() override {}
  using Communicator::broadcast;
  void broadcast(std::span<std::byte>, int) override {}
  void all_reduce(std::span<double>) override {}
  void all_reduce(std::span<int64_t>) override {}
  void start_all_reduce(std::span<float>) override {}
  bool progress() override { return false; }
  void finish_all_reduces() override {}
  void send(std::span<const float>, int to) override;
  void receive(std::span<float>, int from) override;
  std::vector<std::string> gather(const std::string& text, int) override { return {text}; }
  void abort(int) noexcept override {}
};

// MPI when the process was launched by mpirun or srun, else one process.
std::unique_ptr<Communicator> make_communicator(int* argc, char*** argv);

// Runs `body` on this process's communicator and returns its exit status. With one process an exception passes through
// to the caller. With several, the first rank that throws prints its error and ends all of them, non-zero.
int with_communicator(int* argc, char*** argv, const std::function<int(Communicator&)>& body);

}  // namespace gyre
