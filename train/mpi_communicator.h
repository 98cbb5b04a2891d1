// The communicator over MPI_COMM_WORLD. Asks for MPI_THREAD_SERIALIZED: beside the thread that drives the tape, one
// thread of its own moves along what was started (MPI does that only while one of its functions runs) and tells other
// ranks where this one is. No call blocks within MPI: waiting is asking again and again, so that it can end.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "train/communicator.h"
#include "train/mpi.h"
#include "train/mpi_inquiry.h"
#include "train/stopwatch.h"

namespace gyre {

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(int* argc, char*** argv);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node_ranks() const override { return node_ranks_; }
  int local_rank() const override { return local_rank_; }
  bool takes_gpu_memory() const override;
  int cores() const override { return cores_; }
  std::string name() const override;
  void set_hang_timeout(double seconds) override { hang_timeout_ = seconds; }
  void barrier() override;
  using Communicator::broadcast;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void all_reduce(std::span<double> values) override;
  void all_reduce(std::span<int64_t> values) override;
  std::vector<std::string> gather(const std::string& text, int root) override;
  void start_all_reduce(std::span<float> values, Then then) override;
  void start_all_to_all(const Pieces<const std::byte>& send, const Pieces<std::byte>& receive, Then then) override;
  void start_all_gather(const Pieces<std::byte>& pieces, Then then) override;
  void undisturbed(const std::function<void()>& f) override;
  void progress() override;
  void finish() override;
  void abort(int status) noexcept override;

 private:
  // Collectives of one kind: on an MPI communicator of their own, so that only their own order has to be the same.
  struct Lane {
    struct Started {
      MPI_Request request;
      Then then;
    };
    MPI_Comm ranks = MPI_COMM_NULL;
    std::deque<Started> started;
  };
  enum Kind { kSums, kExchanges, kGathers, kKinds };

  void look_at_node();
  template <class Call>
  void start(Kind kind, Then then, Call&& call);  // call(communicator, request)
  template <class Call>
  void run(const char* what, Call&& call);  // call(request); waits for its end
  void wait(const char* what, const std::function<bool()>& is_done);
  void judge(const char* what, double waited);
  bool advance();
  void attend();
  void tell_of_end();

  int rank_ = 0, size_ = 1, node_ranks_ = 1, local_rank_ = 0, cores_ = 1;
  double hang_timeout_ = 0;
  std::atomic<uint64_t> waits_{0};
  std::atomic<bool> waiting_{false};

  std::recursive_timed_mutex mpi_;  // over every call of MPI, and what follows
  std::array<Lane, kKinds> lanes_;
  uint64_t ended_ = 0;  // of what was started
  std::unique_ptr<MpiInquiry> inquiry_;
  std::exception_ptr failure_;  // of `then`, or of MPI, on the attendant's thread

  std::mutex sleep_;
  std::condition_variable wake_;
  bool has_work_ = false, leaves_ = false;
  Stopwatch unasked_;  // to end
  bool told_ = false;
  std::thread attendant_;
};

}  // namespace gyre
