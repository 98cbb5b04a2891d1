// The communicator over MPI_COMM_WORLD. Requires MPI_THREAD_SERIALIZED: in addition to the main thread, a progress
// thread advances the started collectives (MPI does so only inside its functions) and reports the status of this rank
// to other ranks. No call blocks inside MPI, except the first shares_memory(): waits poll, so that they can
// time out.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gyre/train/log/stopwatch.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/mpi/mpi.h"
#include "gyre/train/parallel/mpi/mpi_watchdog.h"
#include "gyre/train/parallel/mpi/mpi_window.h"

namespace gyre {

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator();
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  bool takes_gpu_memory() const override;
  int cores() const override { return cores_; }
  std::string core_note() const override { return core_note_; }
  Machines machines() const override { return machines_; }
  std::string name() const override;
  void set_watchdog_timeout(double seconds) override { watchdog_timeout_ = seconds; }
  void barrier() override;
  using Communicator::broadcast;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void all_reduce(std::span<double> values) override;
  void all_reduce(std::span<int64_t> values) override;
  std::vector<std::string> gather(const std::string& text, int root) override;
  void start_all_reduce(std::span<float> values, Callback callback) override;
  void start_all_to_all(const SplitBuffer<const std::byte>& send, const SplitBuffer<std::byte>& receive,
                        Callback callback) override;
  void start_all_gather(const SplitBuffer<std::byte>& pieces, Callback callback) override;
  void start_partial_gather(const SplitBuffer<std::byte>& pieces, const Sends& sends, Callback callback) override;
  bool shares_memory() override;
  void start_shared(Lane lane, std::unique_ptr<WindowTask> task, Callback callback) override;
  void with_callbacks_paused(const std::function<void()>& f) override;
  void progress() override;
  void prepare_progress_thread(std::function<void()> f) override;
  void finish() override;
  void abort(int status) noexcept override;

 private:
  // The collectives of one kind have a separate MPI communicator, so that only their relative order must be the
  // same on all ranks.
  struct Channel {
    struct Started {
      MPI_Request request;
      Callback callback;
    };
    MPI_Comm ranks = MPI_COMM_NULL;
    std::deque<Started> started;
  };
  enum Kind { kSums, kExchanges, kGathers, kKinds };

  // The memory shared with the other ranks of this machine. Without a window there is none.
  struct SharedMemory {
    bool asked_for = false;
    std::unique_ptr<MpiWindow> window;
    std::deque<WindowPipeline> lanes;  // pipelines by Lane
  };
  static constexpr int64_t kLanes = 2;

  void query_node_topology();
  void find_machines();
  void wake();
  template <class Call>
  void start(Kind kind, Callback callback, Call&& call);  // call(communicator, request)
  template <class Call>
  void run(const char* what, Call&& call);  // call(request); waits for its completion
  void wait(const char* what, const std::function<bool()>& is_done);
  void check_stalled_ranks(const char* what, double waited);
  bool advance();
  void run_progress_thread();
  void report_termination();

  int rank_ = 0, size_ = 1, node_ranks_ = 1, local_rank_ = 0, cores_ = 1;
  std::string core_note_;
  MPI_Comm machine_ = MPI_COMM_NULL;  // the ranks of this machine
  Machines machines_{{0}};
  double watchdog_timeout_ = 0;
  std::atomic<uint64_t> waits_{0};
  std::atomic<bool> waiting_{false};

  std::recursive_timed_mutex mpi_;  // guards all MPI calls and the six members below
  std::array<Channel, kKinds> channels_;
  SharedMemory shared_;
  uint64_t moves_ = 0;  // number of times that advance() has found something to do
  std::unique_ptr<MpiWatchdog> watchdog_;
  std::exception_ptr failure_;         // exception of a callback or of MPI on the progress thread
  std::function<void()> preparation_;  // function that the progress thread calls once

  std::mutex sleep_;
  std::condition_variable wake_;
  bool has_work_ = false, stopping_ = false;
  Stopwatch since_signal_;  // time since a termination signal was received
  bool has_warned_ = false;
  std::thread progress_thread_;
};

}  // namespace gyre
