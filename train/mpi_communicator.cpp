#include "train/mpi_communicator.h"

#include <dlfcn.h>
#include <sched.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "core/error.h"
#include "train/fault.h"
#include "train/stop_signal.h"

namespace gyre {
namespace {

using std::chrono::microseconds;
using Lock = std::unique_lock<std::recursive_timed_mutex>;

// MPI counts are ints: longer ranges go in pieces.
constexpr size_t kPiece = size_t{1} << 30;
// A busy attendant looks as often as something ends on this network, times kLooks, within these bounds: rarely enough
// not to be felt by a rank that computes, often enough for the next message. An idle one only answers questions.
constexpr microseconds kBusyPause{100}, kLongPause{2'000}, kIdlePause{20'000};
constexpr int kLooks = 8;
constexpr int kEagerLooks = 500;       // at what one waits for, before pauses in between
constexpr double kInquirySeconds = 2;  // for the answers
constexpr double kAskedSeconds = 0.3;  // longer than an update usually takes to notice

template <class T, class F>
void in_pieces(std::span<T> all, F&& call) {
  for (size_t at = 0; at < all.size(); at += kPiece) {
    const std::span<T> piece = all.subspan(at, std::min(kPiece, all.size() - at));
    call(piece.data(), int(piece.size()));
  }
}

// As MPI takes them.
struct Counts {
  std::vector<int> sizes, begins;
  template <class T>
  explicit Counts(const Pieces<T>& pieces) {
    const int64_t all = pieces.ends.empty() ? 0 : int64_t(pieces.ends.back());
    require(all <= std::numeric_limits<int>::max(), "[communicator] expected at most ", std::numeric_limits<int>::max(),
            " bytes in one exchange, as MPI counts them, got ", all, ": give a smaller --bucket-mb");
    for (int r = 0; r < int(pieces.ends.size()); ++r) {
      sizes.push_back(int(pieces.size(r)));
      begins.push_back(int(pieces.begin(r)));
    }
  }
};

}  // namespace

MpiCommunicator::MpiCommunicator(int* argc, char*** argv) {
  int provided = 0;
  GYRE_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided));
  GYRE_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  GYRE_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  GYRE_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  require(provided >= MPI_THREAD_SERIALIZED, "[mpi] expected thread level MPI_THREAD_SERIALIZED (",
          MPI_THREAD_SERIALIZED, "), this MPI library gives ", provided);
  set_fault_rank(rank_);
  look_at_node();
  for (Lane& lane : lanes_) GYRE_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &lane.ranks));
  inquiry_ = std::make_unique<MpiInquiry>();
  attendant_ = std::thread([this] { attend(); });
}

// Launchers may bind ranks to cores of their own, or leave all cores to all ranks: count who may run where.
void MpiCommunicator::look_at_node() {
  MPI_Comm node = MPI_COMM_NULL;
  GYRE_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node));
  GYRE_MPI(MPI_Comm_size(node, &node_ranks_));
  GYRE_MPI(MPI_Comm_rank(node, &local_rank_));
  const std::vector<int> own = allowed_cpus();
  std::vector<int> users(CPU_SETSIZE);
  for (int cpu : own) users[size_t(cpu)] = 1;
  GYRE_MPI(MPI_Allreduce(MPI_IN_PLACE, users.data(), int(users.size()), MPI_INT, MPI_SUM, node));
  double share = 0;
  for (int cpu : own) share += 1.0 / users[size_t(cpu)];
  cores_ = std::max(1, int(share + 1e-9));
  GYRE_MPI(MPI_Comm_free(&node));
}

MpiCommunicator::~MpiCommunicator() {
  {
    const std::lock_guard lock(sleep_);
    leaves_ = true;
  }
  wake_.notify_one();
  if (attendant_.joinable()) attendant_.join();
  inquiry_.reset();
  for (Lane& lane : lanes_) {
    if (lane.ranks != MPI_COMM_NULL) MPI_Comm_free(&lane.ranks);
  }
  MPI_Finalize();
}

std::string MpiCommunicator::name() const {
  const std::string library = mpi_library();
  return concat("MPI, ", size_, " ranks, ", node_ranks_, " on this node (", library.substr(0, library.find(',')), ")");
}

// An extension of Open MPI and of those that come from it; asked for by name, since headers of others lack it.
bool MpiCommunicator::takes_gpu_memory() const {
  auto* const query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query && query() == 1;
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
  in_pieces(bytes, [&](std::byte* data, int n) {
    run("broadcast",
        [&](MPI_Request* request) { GYRE_MPI(MPI_Ibcast(data, n, MPI_BYTE, root, MPI_COMM_WORLD, request)); });
  });
}

void MpiCommunicator::all_reduce(std::span<double> values) {
  in_pieces(values, [&](double* data, int n) {
    run("all-reduce of numbers", [&](MPI_Request* request) {
      GYRE_MPI(MPI_Iallreduce(MPI_IN_PLACE, data, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request));
    });
  });
}

void MpiCommunicator::all_reduce(std::span<int64_t> values) {
  in_pieces(values, [&](int64_t* data, int n) {
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
  Pieces<char> pieces;
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
void MpiCommunicator::start(Kind kind, Then then, Call&& call) {
  {
    const Lock lock(mpi_);
    MPI_Request request = MPI_REQUEST_NULL;
    call(lanes_[kind].ranks, &request);
    lanes_[kind].started.push_back({request, std::move(then)});
  }
  {
    const std::lock_guard lock(sleep_);
    has_work_ = true;
  }
  wake_.notify_one();
}

void MpiCommunicator::start_all_reduce(std::span<float> values, Then then) {
  start(kSums, std::move(then), [&](MPI_Comm ranks, MPI_Request* request) {
    GYRE_MPI(MPI_Iallreduce(MPI_IN_PLACE, values.data(), int(values.size()), MPI_FLOAT, MPI_SUM, ranks, request));
  });
}

// The counts must live until the end.
void MpiCommunicator::start_all_to_all(const Pieces<const std::byte>& send, const Pieces<std::byte>& receive,
                                       Then then) {
  const auto counts = std::make_shared<std::pair<Counts, Counts>>(send, receive);
  const Counts &out = counts->first, &in = counts->second;
  start(
      kExchanges, [counts, then = std::move(then)] { then(); },
      [&](MPI_Comm ranks, MPI_Request* request) {
        GYRE_MPI(MPI_Ialltoallv(send.data, out.sizes.data(), out.begins.data(), MPI_BYTE, receive.data, in.sizes.data(),
                                in.begins.data(), MPI_BYTE, ranks, request));
      });
}

void MpiCommunicator::start_all_gather(const Pieces<std::byte>& pieces, Then then) {
  const auto counts = std::make_shared<Counts>(pieces);
  start(
      kGathers, [counts, then = std::move(then)] { then(); },
      [&](MPI_Comm ranks, MPI_Request* request) {
        GYRE_MPI(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, pieces.data, counts->sizes.data(), counts->begins.data(),
                                 MPI_BYTE, ranks, request));
      });
}

// With the lock held. Whether something is still under way.
bool MpiCommunicator::advance() {
  for (Lane& lane : lanes_) {
    while (!lane.started.empty()) {
      int done = 0;
      GYRE_MPI(MPI_Test(&lane.started.front().request, &done, MPI_STATUS_IGNORE));
      if (done == 0) break;
      const Then then = std::move(lane.started.front().then);
      lane.started.pop_front();
      ++ended_;
      then();
    }
  }
  return std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return !lane.started.empty(); });
}

void MpiCommunicator::undisturbed(const std::function<void()>& f) {
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

void MpiCommunicator::attend() {
  bool busy = false;
  uint64_t ended = 0;
  Stopwatch since;  // something ended
  for (;;) {
    {
      const auto pause = std::clamp(microseconds(int64_t(since.seconds() * 1e6 / kLooks)), kBusyPause, kLongPause);
      std::unique_lock sleep(sleep_);
      wake_.wait_for(sleep, busy ? pause : kIdlePause, [&] { return leaves_ || (has_work_ && !busy); });
      if (leaves_) return;
      has_work_ = false;
    }
    const Lock lock(mpi_);
    if (failure_) continue;
    try {
      const bool was_busy = std::exchange(busy, advance());
      if (!was_busy || std::exchange(ended, ended_) != ended_) since = Stopwatch();
      inquiry_->answer({waits_, waiting_, whereabouts().now()});
      tell_of_end();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
}

// When a rank dies mpirun asks the others to end, and a second later makes them. mpirun knows which rank it was; where
// the job was is known here. One or two ranks of a node say it.
void MpiCommunicator::tell_of_end() {
  if (!StopSignal::raised()) {
    unasked_ = Stopwatch();
  } else if (!told_ && waiting_ && local_rank_ <= 1 && unasked_.seconds() > kAskedSeconds) {
    told_ = true;
    if (inquiry_->others_end()) return;  // and have said why
    spdlog::warn("asked to end while rank {} waits for others, in {}; if a rank has died, mpirun names it", rank_,
                 whereabouts().now().text());
  }
}

void MpiCommunicator::wait(const char* what, const std::function<bool()>& is_done) {
  ++waits_;
  waiting_ = true;
  const Stopwatch watch;
  double patience = hang_timeout_;
  for (int looks = 0;; ++looks) {
    {
      const Lock lock(mpi_);
      if (failure_) std::rethrow_exception(failure_);
      if (is_done()) break;
    }
    if (looks < kEagerLooks) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kBusyPause);
      if (patience > 0 && watch.seconds() > patience) {
        judge(what, watch.seconds());
        patience = watch.seconds() + hang_timeout_;
      }
    }
  }
  waiting_ = false;
}

// Who keeps this rank waiting? Returns when it is worth to wait on.
void MpiCommunicator::judge(const char* what, double waited) {
  {
    const Lock lock(mpi_);
    inquiry_->ask();
  }
  bool all_heard = false;
  for (const Stopwatch watch; !all_heard && watch.seconds() < kInquirySeconds;) {
    std::this_thread::sleep_for(kIdlePause / 4);
    const Lock lock(mpi_);
    all_heard = inquiry_->hear();
  }
  const auto& answers = inquiry_->answers();
  if (goes_on(answers, rank_, waits_, hang_timeout_)) return;
  throw Error("[--hang-timeout] ", what, " in ", whereabouts().now().text(), ": not ended after ", int64_t(waited),
              " s: ", describe_missing(answers, rank_, waits_));
}

void MpiCommunicator::abort(int status) noexcept {
  const Lock lock(mpi_, std::chrono::seconds(1));  // should the attendant never come back, the end matters more
  try {
    if (lock.owns_lock()) inquiry_->tell_end();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the end matters more
  }
  MPI_Abort(MPI_COMM_WORLD, status);
}

}  // namespace gyre
