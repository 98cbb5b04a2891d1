#include "gyre/train/parallel/mpi/mpi.h"

#include <sched.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/parallel/mpi/mpi_watchdog.h"
#include "gyre/train/parallel/mpi/mpi_window.h"
#include "gyre/train/parallel/stop_signal.h"

namespace gyre {
namespace {

// The communicator over MPI_COMM_WORLD. Requires MPI_THREAD_SERIALIZED: in addition to the main thread, a progress
// thread advances the started collectives (MPI does so only inside its functions), reports the status of this rank to
// other ranks, and ends the job if watched work hangs. No call blocks inside MPI, except the first shares_memory():
// waits poll, so that they can time out.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator();
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
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
  void finish() override;
  void watch(std::string what, std::function<bool()> are_done) override;
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
  void check_stalled_ranks(const char* what, double waited, bool of_all_ranks = false);
  bool advance();
  void run_progress_thread();
  void check_watched();
  void report_termination();

  int rank_ = 0, size_ = 1, node_ranks_ = 1, local_rank_ = 0, cores_ = 1;
  std::string core_note_;
  MPI_Comm machine_ = MPI_COMM_NULL;  // the ranks of this machine
  Machines machines_{{0}};
  std::atomic<double> watchdog_timeout_ = 0;
  std::atomic<uint64_t> waits_{0};
  std::atomic<bool> waiting_{false};

  std::recursive_timed_mutex mpi_;  // guards all MPI calls and the five members below
  std::array<Channel, kKinds> channels_;
  SharedMemory shared_;
  uint64_t moves_ = 0;  // how often advance() has found something to do
  std::unique_ptr<MpiWatchdog> watchdog_;
  std::exception_ptr failure_;  // exception of a callback or of MPI on the progress thread

  std::mutex stall_check_;  // held by check_stalled_ranks(), and locked before mpi_
  std::mutex watch_mutex_;  // guards the member below
  std::optional<std::string> watched_;
  std::atomic<double> watched_done_at_ = 0;  // steady_seconds() when the watched work was last done
  Stopwatch since_watch_check_;              // time since check_watched() last asked the other ranks
  std::jthread watch_thread_;                // asks whether the watched work is done

  std::mutex sleep_;
  std::condition_variable wake_;
  bool has_work_ = false, stopping_ = false;
  Stopwatch since_signal_;  // time since a termination signal was received
  bool has_warned_ = false;
  std::thread progress_thread_;
};

using std::chrono::microseconds;

using Lock = std::unique_lock<std::recursive_timed_mutex>;

// MPI counts are ints: longer ranges are split into pieces.
constexpr size_t kPiece = size_t{1} << 30;

// Pauses of the progress thread between polls. With collectives in progress it pauses 1 / kPollsPerCompletion of the
// time since anything last moved, within the bounds kBusyPause and kLongPause: rarely enough not to slow down
// computation, often enough for the next message. Otherwise it only answers heartbeat requests, and pauses kIdlePause.
constexpr microseconds kBusyPause{100}, kLongPause{2'000}, kIdlePause{20'000};

constexpr int kPollsPerCompletion = 8;

constexpr double kSpinSeconds = 1e-3;  // time without progress before a waiting call pauses between polls

constexpr std::chrono::seconds kWatchPause{1};
constexpr double kHeartbeatSeconds = 2;  // time limit for the answers to a heartbeat request

constexpr double kSignalGraceSeconds = 0.3;  // longer than the loop usually takes to notice a signal

template <class T, class F>
void in_chunks(std::span<T> all, F&& call) {
  for (size_t at = 0; at < all.size(); at += kPiece) {
    const std::span<T> piece = all.subspan(at, std::min(kPiece, all.size() - at));
    call(piece.data(), int(piece.size()));
  }
}

// Counts and displacements of a SplitBuffer for MPI.
struct Counts {
  std::vector<int> sizes, begins;
  template <class T>
  explicit Counts(const SplitBuffer<T>& pieces) {
    const int64_t all = pieces.ends.empty() ? 0 : int64_t(pieces.ends.back());
    require(all <= std::numeric_limits<int>::max(), "[communicator] expected at most ", std::numeric_limits<int>::max(),
            " bytes in one MPI exchange, got ", all, ": use a smaller --bucket-mb");
    for (int r = 0; r < int(pieces.ends.size()); ++r) {
      sizes.push_back(int(pieces.size(r)));
      begins.push_back(int(pieces.begin(r)));
    }
  }
};

// The lists of all ranks of `ranks`, in rank order.
template <class T>
std::vector<std::vector<T>> gather_lists(const std::vector<T>& own, MPI_Comm ranks) {
  int count = 0;
  GYRE_MPI(MPI_Comm_size(ranks, &count));
  std::vector<int> bytes(static_cast<size_t>(count)), begins(bytes);
  const int own_bytes = int(own.size() * sizeof(T));
  GYRE_MPI(MPI_Allgather(&own_bytes, 1, MPI_INT, bytes.data(), 1, MPI_INT, ranks));
  std::exclusive_scan(bytes.begin(), bytes.end(), begins.begin(), 0);
  std::vector<T> all(size_t(begins.back() + bytes.back()) / sizeof(T));
  GYRE_MPI(MPI_Allgatherv(own.data(), own_bytes, MPI_BYTE, all.data(), bytes.data(), begins.data(), MPI_BYTE, ranks));
  std::vector<std::vector<T>> lists;
  for (size_t rank = 0; rank < size_t(count); ++rank) {
    const T* const begin = all.data() + size_t(begins[rank]) / sizeof(T);
    lists.emplace_back(begin, begin + size_t(bytes[rank]) / sizeof(T));
  }
  return lists;
}

MpiCommunicator::MpiCommunicator() {
  int provided = 0;
  GYRE_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
  GYRE_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  GYRE_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  GYRE_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  require(provided >= MPI_THREAD_SERIALIZED, "[mpi] expected thread level MPI_THREAD_SERIALIZED (",
          MPI_THREAD_SERIALIZED, "), this MPI library gives ", provided);
  query_node_topology();
  find_machines();
  for (Channel& channel : channels_) GYRE_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &channel.ranks));
  watchdog_ = std::make_unique<MpiWatchdog>();
  progress_thread_ = std::thread([this] { run_progress_thread(); });
}

// Launchers bind each rank to separate cores, or let all ranks use all cores.
void MpiCommunicator::query_node_topology() {
  GYRE_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine_));
  GYRE_MPI(MPI_Comm_set_errhandler(machine_, MPI_ERRORS_RETURN));
  GYRE_MPI(MPI_Comm_size(machine_, &node_ranks_));
  GYRE_MPI(MPI_Comm_rank(machine_, &local_rank_));
  const ProcessCores own = cores_of_process();
  std::vector<ProcessCores> machine(static_cast<size_t>(node_ranks_));
  const std::vector<std::vector<int>> cpus = gather_lists(own.cpus, machine_);
  const std::vector<std::vector<CpuQuota>> quotas = gather_lists(own.quotas, machine_);
  for (size_t rank = 0; rank < machine.size(); ++rank) machine[rank] = {cpus[rank], quotas[rank]};
  cores_ = share_of_cores(machine, size_t(local_rank_));
  core_note_ = describe_idle_cores(machine, size_t(local_rank_), int(usable_cpus().size()));
}

void MpiCommunicator::find_machines() {
  int first = rank_;  // first rank of this machine
  GYRE_MPI(MPI_Bcast(&first, 1, MPI_INT, 0, machine_));
  std::vector<int> machine_of(static_cast<size_t>(size_));
  GYRE_MPI(MPI_Allgather(&first, 1, MPI_INT, machine_of.data(), 1, MPI_INT, MPI_COMM_WORLD));
  machines_ = Machines(std::move(machine_of));
}

MpiCommunicator::~MpiCommunicator() {
  watch({}, {});
  {
    const std::lock_guard lock(sleep_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (progress_thread_.joinable()) progress_thread_.join();
  watchdog_.reset();
  shared_ = {};
  MPI_Comm_free(&machine_);
  for (Channel& channel : channels_) {
    if (channel.ranks != MPI_COMM_NULL) MPI_Comm_free(&channel.ranks);
  }
  MPI_Finalize();
}

std::string MpiCommunicator::name() const {
  const std::string library = mpi_library();
  return concat("MPI, ", size_, " ranks, ", node_ranks_, " on this node (", library.substr(0, library.find(',')), ")");
}

template <class Call>
void MpiCommunicator::run(const char* what, Call&& call) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const Lock lock(mpi_);
    call(&request);
  }
  wait(what, [&] {
    int done = 0;
    GYRE_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    return done != 0;
  });
}

void MpiCommunicator::barrier() {
  run("barrier", [](MPI_Request* request) { GYRE_MPI(MPI_Ibarrier(MPI_COMM_WORLD, request)); });
}

void MpiCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  in_chunks(bytes, [&](std::byte* data, int n) {
    run("broadcast",
        [&](MPI_Request* request) { GYRE_MPI(MPI_Ibcast(data, n, MPI_BYTE, root, MPI_COMM_WORLD, request)); });
  });
}

void MpiCommunicator::all_reduce(std::span<double> values) {
  in_chunks(values, [&](double* data, int n) {
    run("all-reduce of numbers", [&](MPI_Request* request) {
      GYRE_MPI(MPI_Iallreduce(MPI_IN_PLACE, data, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request));
    });
  });
}

void MpiCommunicator::all_reduce(std::span<int64_t> values) {
  in_chunks(values, [&](int64_t* data, int n) {
    run("all-reduce of counts", [&](MPI_Request* request) {
      GYRE_MPI(MPI_Iallreduce(MPI_IN_PLACE, data, n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, request));
    });
  });
}

std::vector<std::string> MpiCommunicator::gather(const std::string& text, int root) {
  require(text.size() < kPiece, "[communicator] gather: expected a text under 1 GiB, got ", text.size(), " bytes");
  const bool here = rank_ == root;
  std::vector<int64_t> lengths(static_cast<size_t>(size_));
  lengths[size_t(rank_)] = int64_t(text.size());
  all_reduce(std::span<int64_t>(lengths));
  SplitBuffer<char> pieces;
  for (const int64_t length : lengths) pieces.ends.push_back((pieces.ends.empty() ? 0 : pieces.ends.back()) + length);
  require(size_t(pieces.ends.back()) < kPiece, "[communicator] gather: expected texts under 1 GiB in all, got ",
          pieces.ends.back(), " bytes");
  std::string all(here ? size_t(pieces.ends.back()) : 0, '\0');
  const Counts counts(pieces);
  run("gathering of texts", [&](MPI_Request* request) {
    GYRE_MPI(MPI_Igatherv(text.data(), int(text.size()), MPI_CHAR, all.data(), counts.sizes.data(),
                          counts.begins.data(), MPI_CHAR, root, MPI_COMM_WORLD, request));
  });
  std::vector<std::string> texts;
  for (int r = 0; here && r < size_; ++r) texts.push_back(all.substr(size_t(pieces.begin(r)), size_t(pieces.size(r))));
  return texts;
}

template <class Call>
void MpiCommunicator::start(Kind kind, Callback callback, Call&& call) {
  {
    const Lock lock(mpi_);
    MPI_Request request = MPI_REQUEST_NULL;
    call(channels_[kind].ranks, &request);
    channels_[kind].started.push_back({request, std::move(callback)});
  }
  wake();
}

// Wakes the progress thread.
void MpiCommunicator::wake() {
  {
    const std::lock_guard lock(sleep_);
    has_work_ = true;
  }
  wake_.notify_one();
}

void MpiCommunicator::start_all_reduce(std::span<float> values, Callback callback) {
  start(kSums, std::move(callback), [&](MPI_Comm ranks, MPI_Request* request) {
    GYRE_MPI(MPI_Iallreduce(MPI_IN_PLACE, values.data(), int(values.size()), MPI_FLOAT, MPI_SUM, ranks, request));
  });
}

// The callback owns the counts, which must live until the collective ends.
void MpiCommunicator::start_all_to_all(const SplitBuffer<const std::byte>& send, const SplitBuffer<std::byte>& receive,
                                       Callback callback) {
  const auto counts = std::make_shared<std::pair<Counts, Counts>>(send, receive);
  const Counts &out = counts->first, &in = counts->second;
  start(
      kExchanges, [counts, callback = std::move(callback)] { callback(); },
      [&](MPI_Comm ranks, MPI_Request* request) {
        GYRE_MPI(MPI_Ialltoallv(send.data, out.sizes.data(), out.begins.data(), MPI_BYTE, receive.data, in.sizes.data(),
                                in.begins.data(), MPI_BYTE, ranks, request));
      });
}

void MpiCommunicator::start_all_gather(const SplitBuffer<std::byte>& pieces, Callback callback) {
  const auto counts = std::make_shared<Counts>(pieces);
  start(
      kGathers, [counts, callback = std::move(callback)] { callback(); },
      [&](MPI_Comm ranks, MPI_Request* request) {
        GYRE_MPI(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, pieces.data, counts->sizes.data(), counts->begins.data(),
                                 MPI_BYTE, ranks, request));
      });
}

void MpiCommunicator::start_partial_gather(const SplitBuffer<std::byte>& pieces, const Sends& sends,
                                           Callback callback) {
  const auto counts = std::make_shared<std::pair<Counts, Counts>>(pieces, pieces);
  auto& [out, in] = *counts;
  for (int r = 0; r < size_; ++r) {
    out.sizes[size_t(r)] = r != rank_ && sends(rank_, r) ? int(pieces.size(rank_)) : 0;
    out.begins[size_t(r)] = int(pieces.begin(rank_)) - 1;  // counted from `sent` below
    if (r == rank_ || !sends(r, rank_)) in.sizes[size_t(r)] = 0;
  }
  start(
      kGathers, [counts, callback = std::move(callback)] { callback(); },
      [&, &out = out, &in = in](MPI_Comm ranks, MPI_Request* request) {
        // Open MPI takes equal addresses for MPI_IN_PLACE, which would send what this rank receives.
        const std::byte* const sent = pieces.data + 1;
        GYRE_MPI(MPI_Ialltoallv(sent, out.sizes.data(), out.begins.data(), MPI_BYTE, pieces.data, in.sizes.data(),
                                in.begins.data(), MPI_BYTE, ranks, request));
      });
}

// The barrier makes sure that all ranks have arrived, because the allocation blocks inside MPI.
bool MpiCommunicator::shares_memory() {
  if (shared_.asked_for || machines_.count() == size_) return !shared_.lanes.empty();
  barrier();
  std::string obstacle;
  {
    const Lock lock(mpi_);
    shared_.asked_for = true;
    shared_.window = MpiWindow::allocate(machine_, kLanes * WindowPipeline::kSegmentBytes, obstacle);
  }
  int64_t failures = shared_.window ? 0 : 1;
  all_reduce(std::span<int64_t>(&failures, 1));
  if (!obstacle.empty() && local_rank_ == 0)
    spdlog::warn("the ranks of a machine exchange gradients by messages, not in shared memory: {}", obstacle);
  const Lock lock(mpi_);
  if (failures > 0) {
    shared_.window.reset();
  } else {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      shared_.lanes.emplace_back(shared_.window->segments(lane * WindowPipeline::kSegmentBytes));
  }
  return !shared_.lanes.empty();
}

void MpiCommunicator::start_shared(Lane lane, std::unique_ptr<WindowTask> task, Callback callback) {
  {
    const Lock lock(mpi_);
    shared_.lanes.at(size_t(lane)).start(std::move(task), std::move(callback));
  }
  wake();
}

// Advances the started collectives and calls their callbacks. Needs the lock. Returns whether any is still in progress.
bool MpiCommunicator::advance() {
  for (WindowPipeline& lane : shared_.lanes) moves_ += lane.advance() ? 1 : 0;
  for (Channel& channel : channels_) {
    while (!channel.started.empty()) {
      int done = 0;
      GYRE_MPI(MPI_Test(&channel.started.front().request, &done, MPI_STATUS_IGNORE));
      if (done == 0) break;
      const Callback callback = std::move(channel.started.front().callback);
      channel.started.pop_front();
      ++moves_;
      callback();
    }
  }
  return std::any_of(channels_.begin(), channels_.end(),
                     [](const Channel& channel) { return !channel.started.empty(); }) ||
         std::any_of(shared_.lanes.begin(), shared_.lanes.end(),
                     [](const WindowPipeline& lane) { return !lane.idle(); });
}

void MpiCommunicator::with_callbacks_paused(const std::function<void()>& f) {
  const Lock lock(mpi_);
  f();
}

void MpiCommunicator::progress() {
  const Lock lock(mpi_, std::try_to_lock);
  if (lock.owns_lock()) advance();
}

void MpiCommunicator::finish() {
  wait("exchange of gradients", [&] { return !advance(); });
}

void MpiCommunicator::run_progress_thread() {
  bool busy = false;
  uint64_t moves = 0;
  Stopwatch since;  // time since anything last moved
  for (;;) {
    {
      // The main thread polls while it waits.
      const auto since_move = microseconds(int64_t(since.seconds() * 1e6 / kPollsPerCompletion));
      const auto pause = waiting_ ? kLongPause : std::clamp(since_move, kBusyPause, kLongPause);
      std::unique_lock sleep(sleep_);
      wake_.wait_for(sleep, busy ? pause : kIdlePause, [&] { return stopping_ || (has_work_ && !busy); });
      if (stopping_) return;
      has_work_ = false;
    }
    check_watched();
    const Lock lock(mpi_);
    if (failure_) continue;
    try {
      const bool was_busy = std::exchange(busy, advance());
      if (!was_busy || std::exchange(moves, moves_) != moves_) since = Stopwatch();
      watchdog_->reply({waits_, waiting_, rank_status().now()});
      report_termination();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
}

// Open MPI's mpirun ends the ranks within two seconds when a rank has died, or when mpirun itself gets SIGTERM or
// SIGINT (StopSignal). That is rarely enough to finish an update and to save. mpirun reports which rank died; this
// message adds the phase and update of the job, and how to end it with a checkpoint. The first two ranks of each node
// print it.
void MpiCommunicator::report_termination() {
  const char* const signal = StopSignal::raised();
  const bool by_launcher = signal != nullptr && StopSignal::sent_by_parent() && std::string_view(signal) == "SIGTERM";
  // After other signals a computing rank may take its time: the grace period begins when it waits.
  if (signal == nullptr || (!by_launcher && !waiting_)) since_signal_ = Stopwatch();
  if (has_warned_ || local_rank_ > 1 || since_signal_.seconds() <= kSignalGraceSeconds) return;
  has_warned_ = true;
  if (watchdog_->peer_aborted()) return;  // that rank has printed its error
  spdlog::warn("termination signal while rank {} {} {}{}", rank_, waiting_ ? "waits for others, in" : "is in",
               to_string(rank_status().now()),
               by_launcher ? "; mpirun ends all ranks within two seconds, saved or not. If a rank has died, mpirun "
                             "names it. To end a job with a checkpoint, send USR1 to mpirun, or start it by "
                             "tools/scripts/mpirun.sh"
                           : "");
}

void MpiCommunicator::wait(const char* what, const std::function<bool()>& is_done) {
  ++waits_;
  waiting_ = true;
  const Stopwatch watch;
  double patience = watchdog_timeout_;
  Stopwatch since;  // time since anything last moved
  for (uint64_t moves = 0;;) {
    {
      const Lock lock(mpi_);
      if (failure_) std::rethrow_exception(failure_);
      if (is_done()) break;
      if (std::exchange(moves, moves_) != moves_) since = Stopwatch();
    }
    // A pause must stay rare: while one rank pauses, the others run out of work and would pause as well.
    if (since.seconds() < kSpinSeconds) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kBusyPause);
      if (patience > 0 && watch.seconds() > patience) {
        check_stalled_ranks(what, watch.seconds());
        patience = watch.seconds() + watchdog_timeout_;
      }
    }
  }
  waiting_ = false;
}

// Polls the other ranks to find those that are stalled. Returns if waiting longer is worthwhile, else throws. The error
// names the ranks that have not arrived at this wait, or with of_all_ranks what every other rank does.
void MpiCommunicator::check_stalled_ranks(const char* what, double waited, bool of_all_ranks) {
  const std::lock_guard one_at_a_time(stall_check_);
  {
    const Lock lock(mpi_);
    watchdog_->ping();
  }
  bool all_replied = false;
  for (const Stopwatch watch; !all_replied && watch.seconds() < kHeartbeatSeconds;) {
    std::this_thread::sleep_for(kIdlePause / 4);
    const Lock lock(mpi_);
    watchdog_->reply({waits_, waiting_, rank_status().now()});
    all_replied = watchdog_->collect_replies();
  }
  const auto& heartbeats = watchdog_->heartbeats();
  if (is_making_progress(heartbeats, rank_, waits_, watchdog_timeout_)) return;
  throw Error("[--watchdog-timeout] ", what, " in ", to_string(rank_status().now()), ": not finished after ",
              int64_t(waited), " s: ", describe_missing(heartbeats, rank_, waits_ + (of_all_ranks ? 1 : 0)));
}

// The driver of a GPU may block the calls of `are_done` while it hangs, so a thread of their own makes them. The
// progress thread, which must answer the other ranks, only looks at when they last returned true.
void MpiCommunicator::watch(std::string what, std::function<bool()> are_done) {
  {
    const std::lock_guard lock(watch_mutex_);
    watched_.reset();
  }
  watch_thread_ = {};  // waits for the thread of the watch before
  if (!are_done) return;
  watched_done_at_ = steady_seconds();
  watch_thread_ = std::jthread([this, are_done = std::move(are_done)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    while (!stop.stop_requested()) {
      try {
        if (are_done()) watched_done_at_ = steady_seconds();
      } catch (const std::exception& e) {
        end_job(*this, rank_, e.what(), 1);  // the main thread may wait for this work without end
      }
      std::unique_lock lock(mutex);
      never.wait_for(lock, stop, kWatchPause, [] { return false; });
    }
  });
  const std::lock_guard lock(watch_mutex_);
  watched_ = std::move(what);
}

// Called on the progress thread. While the main thread waits in a call of MPI, that wait has a watchdog of its own.
void MpiCommunicator::check_watched() {
  std::string what;
  {
    const std::lock_guard lock(watch_mutex_);
    if (!watched_ || watchdog_timeout_ <= 0) return;
    what = *watched_;
  }
  const StatusSnapshot now = rank_status().now();
  const double limit = longest_phase(now.phase, watchdog_timeout_);
  const double stalled = std::min(steady_seconds() - watched_done_at_, now.seconds);
  if (waiting_ || stalled <= limit || since_watch_check_.seconds() <= limit) return;
  try {
    check_stalled_ranks(what.c_str(), stalled, /*of_all_ranks=*/true);
  } catch (const std::exception& e) {
    end_job(*this, rank_, e.what(), 1);
  }
  since_watch_check_ = Stopwatch();
}

void MpiCommunicator::abort(int status) noexcept {
  const Lock lock(mpi_, std::chrono::seconds(1));  // abort even if the progress thread never releases it
  try {
    if (lock.owns_lock()) watchdog_->announce_abort();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): abort in any case
  }
  MPI_Abort(MPI_COMM_WORLD, status);
}

}  // namespace

void check_mpi(int code, const char* expression) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0, rank = 0;
  MPI_Error_string(code, text.data(), &length);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  throw Error("[mpi] rank ", rank, ": ", expression, ": ", std::string(text.data(), size_t(length)));
}

std::unique_ptr<Communicator> make_mpi_communicator() { return std::make_unique<MpiCommunicator>(); }

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data());
  return version.substr(0, version.find('\n'));  // some libraries append their build options
}

}  // namespace gyre
