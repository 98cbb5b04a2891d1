#include "train/mpi_communicator.h"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <array>

#include "core/error.h"

namespace gyre {
namespace {

// MPI counts are ints: longer ranges go in pieces.
constexpr size_t kPiece = size_t{1} << 30;
constexpr int kTag = 1;

template <class T, class F>
void in_pieces(std::span<T> all, F&& call) {
  for (size_t at = 0; at < all.size(); at += kPiece) {
    const std::span<T> piece = all.subspan(at, std::min(kPiece, all.size() - at));
    call(piece.data(), int(piece.size()));
  }
}

}  // namespace

#define GYRE_MPI(call) check(call, #call)

MpiCommunicator::MpiCommunicator(int* argc, char*** argv) {
  int provided = 0;
  GYRE_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
  GYRE_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  GYRE_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  GYRE_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  require(provided >= MPI_THREAD_FUNNELED, "[mpi] expected thread level MPI_THREAD_FUNNELED (", MPI_THREAD_FUNNELED,
          "), this MPI library gives ", provided);
  look_at_node();
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

MpiCommunicator::~MpiCommunicator() { MPI_Finalize(); }

void MpiCommunicator::check(int code, const char* expression) const {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error("[mpi] rank ", rank_, " of ", size_, ": ", expression, ": ", std::string(text.data(), size_t(length)));
}

std::string MpiCommunicator::name() const {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  const std::string text(version.data(), size_t(length));
  return concat("MPI, ", size_, " ranks, ", node_ranks_, " on this node (", text.substr(0, text.find(',')), ")");
}

// An extension of Open MPI and of those that come from it; asked for by name, since headers of others lack it.
bool MpiCommunicator::takes_gpu_memory() const {
  auto* const query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query && query() == 1;
}

void MpiCommunicator::barrier() { GYRE_MPI(MPI_Barrier(MPI_COMM_WORLD)); }

void MpiCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  in_pieces(bytes, [&](std::byte* data, int n) { GYRE_MPI(MPI_Bcast(data, n, MPI_BYTE, root, MPI_COMM_WORLD)); });
}

void MpiCommunicator::all_reduce(std::span<double> values) {
  in_pieces(values, [&](double* data, int n) {
    GYRE_MPI(MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  });
}

void MpiCommunicator::all_reduce(std::span<int64_t> values) {
  in_pieces(values, [&](int64_t* data, int n) {
    GYRE_MPI(MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
  });
}

void MpiCommunicator::start_all_reduce(std::span<float> values) {
  in_pieces(values, [&](float* data, int n) {
    MPI_Request request = MPI_REQUEST_NULL;
    GYRE_MPI(MPI_Iallreduce(MPI_IN_PLACE, data, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request));
    pending_.push_back(request);
  });
}

bool MpiCommunicator::progress() {
  if (pending_.empty()) return false;
  completed_.resize(pending_.size());
  int done = 0;
  GYRE_MPI(MPI_Testsome(int(pending_.size()), pending_.data(), &done, completed_.data(), MPI_STATUSES_IGNORE));
  std::erase(pending_, MPI_REQUEST_NULL);
  return !pending_.empty();
}

void MpiCommunicator::finish_all_reduces() {
  GYRE_MPI(MPI_Waitall(int(pending_.size()), pending_.data(), MPI_STATUSES_IGNORE));
  pending_.clear();
}

void MpiCommunicator::send(std::span<const float> values, int to) {
  in_pieces(values,
            [&](const float* data, int n) { GYRE_MPI(MPI_Send(data, n, MPI_FLOAT, to, kTag, MPI_COMM_WORLD)); });
}

void MpiCommunicator::receive(std::span<float> values, int from) {
  in_pieces(values, [&](float* data, int n) {
    GYRE_MPI(MPI_Recv(data, n, MPI_FLOAT, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  });
}

std::vector<std::string> MpiCommunicator::gather(const std::string& text, int root) {
  require(text.size() < kPiece, "[communicator] gather: expected a text under 1 GiB, got ", text.size(), " bytes");
  const bool here = rank_ == root;
  const int length = int(text.size());
  std::vector<int> lengths(here ? size_t(size_) : 0);
  GYRE_MPI(MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, root, MPI_COMM_WORLD));
  if (!here) {
    GYRE_MPI(MPI_Send(text.data(), length, MPI_CHAR, root, kTag, MPI_COMM_WORLD));
    return {};
  }
  std::vector<std::string> texts;
  for (int r = 0; r < size_; ++r) {
    std::string& got = texts.emplace_back(r == rank_ ? text : std::string(size_t(lengths[size_t(r)]), '\0'));
    if (r == rank_) continue;
    GYRE_MPI(MPI_Recv(got.data(), int(got.size()), MPI_CHAR, r, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  return texts;
}

void MpiCommunicator::abort(int status) noexcept { MPI_Abort(MPI_COMM_WORLD, status); }

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data());
  return version.substr(0, version.find('\n'));  // some libraries go on about how they were built
}

}  // namespace gyre
