// An emulated libnccl.so.2: the functions that core/cuda/runtime/nccl.cu loads, between processes that each have
// an emulated GPU, over Unix sockets.
//
// A call waits for the work before it on its stream, and not for other streams, then communicates at once, and queues
// the result on its stream. A missing event before or after it thus gives a wrong result, as with the real library.
//
// GYRE_NCCL_EMULATION is a fault of every ncclAllReduce. "hang" queues work that never ends: it holds the emulated GPU,
// so that even asking for an event blocks, as with a driver that hangs. "error" does not return, and reports an error
// to ncclCommGetAsyncError. "stop" stops the process of rank 1.
#include <cuda_runtime.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda_emulation/streams.h"

struct UniqueId {
  char bytes[128];
};

namespace {

constexpr int kSuccess = 0, kSystemError = 2, kInvalidArgument = 4, kRemoteError = 6;
constexpr int kInt8 = 0, kFloat32 = 7, kFloat64 = 8;

// Writes or reads all bytes. Returns false if the peer is gone.
template <class Call>
bool transfer(Call call, int socket, char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = call(socket, data, bytes);
    if (done <= 0) return false;
    data += done;
    bytes -= size_t(done);
  }
  return true;
}
bool send_all(int socket, const void* data, size_t bytes) {
  const auto call = [](int s, char* at, size_t n) { return send(s, at, n, MSG_NOSIGNAL); };
  return transfer(call, socket, static_cast<char*>(const_cast<void*>(data)), bytes);
}
bool receive_all(int socket, void* data, size_t bytes) {
  const auto call = [](int s, char* at, size_t n) { return recv(s, at, n, 0); };
  return transfer(call, socket, static_cast<char*>(data), bytes);
}

struct Communicator {
  int rank, size;
  std::vector<int> sockets{};  // sockets by peer
  std::vector<void*> results{};

  // Of two peers, the lower rank sends first.
  bool exchange(int peer, const std::vector<char>& out, std::vector<char>& in) const {
    if (peer == rank) {
      in = out;
      return true;
    }
    const int socket = sockets[size_t(peer)];
    if (rank < peer) return send_all(socket, out.data(), out.size()) && receive_all(socket, in.data(), in.size());
    return receive_all(socket, in.data(), in.size()) && send_all(socket, out.data(), out.size());
  }
};

// A name in the abstract namespace, which needs no file.
std::pair<sockaddr_un, socklen_t> address_of(const UniqueId& id, int rank) {
  const std::string name = std::string(id.bytes) + "-" + std::to_string(rank);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return {address, socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

int connect_to(const UniqueId& id, int peer) {
  const auto [address, length] = address_of(id, peer);
  for (int tries = 0; tries < 1000; ++tries) {
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(s, reinterpret_cast<const sockaddr*>(&address), length) == 0) return s;
    close(s);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return -1;
}

// Queues the copy of a result to the GPU, from pinned memory, which it keeps until the communicator is destroyed.
int land(Communicator& ranks, void* to, const std::vector<char>& result, cudaStream_t stream) {
  void* pinned = nullptr;
  if (cudaMallocHost(&pinned, result.size()) != cudaSuccess) return kSystemError;
  ranks.results.push_back(pinned);
  std::memcpy(pinned, result.data(), result.size());
  return cudaMemcpyAsync(to, pinned, result.size(), cudaMemcpyHostToDevice, stream) == cudaSuccess ? kSuccess
                                                                                                   : kSystemError;
}

// The memory of the emulated GPU is that of the process.
std::vector<char> read(const void* from, size_t bytes) {
  const auto* const first = static_cast<const char*>(from);
  return {first, first + bytes};
}

// Adds the values of all ranks in the order of the ranks.
template <class T>
bool add_over_ranks(const Communicator& ranks, std::vector<char>& values) {
  std::vector<std::vector<char>> all(size_t(ranks.size), values);
  for (int peer = 0; peer < ranks.size; ++peer) {
    if (peer != ranks.rank && !ranks.exchange(peer, values, all[size_t(peer)])) return false;
  }
  T* const sums = reinterpret_cast<T*>(values.data());
  for (size_t i = 0; i < values.size() / sizeof(T); ++i) {
    T sum = 0;
    for (const std::vector<char>& part : all) sum += reinterpret_cast<const T*>(part.data())[i];
    sums[i] = sum;
  }
  return true;
}

// The sends and receives of a group, by peer. Each peer has at most one of both. After a call that failed, the group
// starts none of them.
struct Group {
  struct Messages {
    const void* send = nullptr;
    void* receive = nullptr;
    size_t send_bytes = 0, receive_bytes = 0;
  };
  Communicator* ranks = nullptr;
  cudaStream_t stream = nullptr;
  std::map<int, Messages> by_peer{};
  int depth = 0;  // depth of nested groups, of which the outermost one counts
  int problem = kSuccess;
};
thread_local Group group;

std::atomic<int> asynchronous_error = kSuccess;

void cause_fault(int rank, cudaStream_t stream) {
  const char* const setting = std::getenv("GYRE_NCCL_EMULATION");
  const std::string fault = setting == nullptr ? "" : setting;
  if (fault == "error") asynchronous_error = kRemoteError;
  if (fault == "stop" && rank == 1) raise(SIGSTOP);
  while (fault == "error") pause();
  if (fault == "hang") {
    const auto lock = cuda_emulation::lock_gpu();
    cuda_emulation::queue(stream, [] {
      for (;;) pause();
    });
  }
}

int end_group() {
  if (--group.depth > 0) return kSuccess;
  const Group now = std::exchange(group, {});
  if (now.problem != kSuccess || now.by_peer.empty()) return now.problem;
  if (cudaStreamSynchronize(now.stream) != cudaSuccess) return kSystemError;
  for (const auto& [peer, messages] : now.by_peer) {
    const std::vector<char> out = read(messages.send, messages.send_bytes);
    std::vector<char> in(messages.receive_bytes);
    if (!now.ranks->exchange(peer, out, in)) return kSystemError;
    if (!in.empty() && land(*now.ranks, messages.receive, in, now.stream) != kSuccess) return kSystemError;
  }
  return kSuccess;
}

// Adds a message to the open group by `add(Group::Messages&)`.
template <class Add>
int add_message(int type, int peer, void* communicator, cudaStream_t stream, Add add) {
  auto* const ranks = static_cast<Communicator*>(communicator);
  if (group.depth == 0) return kInvalidArgument;
  if (type != kInt8 || peer < 0 || peer >= ranks->size) return group.problem = kInvalidArgument;
  group.ranks = ranks;
  group.stream = stream;
  add(group.by_peer[peer]);
  return kSuccess;
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(int result) {
  return result == kSuccess ? "no error" : result == kRemoteError ? "remote error" : "error of the emulated NCCL";
}

int ncclGetVersion(int* version) {
  *version = 22703;
  return kSuccess;
}

int ncclCommGetAsyncError(void*, int* error) {
  *error = asynchronous_error;
  return kSuccess;
}

int ncclGetUniqueId(UniqueId* id) {
  static int count = 0;
  std::snprintf(id->bytes, sizeof id->bytes, "emulated-nccl-%d-%d", int(getpid()), ++count);
  return kSuccess;
}

int ncclCommInitRank(void** communicator, int size, UniqueId id, int rank) {
  auto* const made = new Communicator{rank, size, std::vector<int>(size_t(size), -1)};
  *communicator = made;
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  const auto [address, length] = address_of(id, rank);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), length) != 0 || listen(listener, size) != 0)
    return kSystemError;
  for (int peer = 0; peer < rank; ++peer) {
    const int s = made->sockets[size_t(peer)] = connect_to(id, peer);
    if (s < 0 || !send_all(s, &rank, sizeof rank)) return kSystemError;
  }
  for (int higher = rank + 1; higher < size; ++higher) {
    const int s = accept(listener, nullptr, nullptr);
    int peer = 0;
    if (s < 0 || !receive_all(s, &peer, sizeof peer)) return kSystemError;
    made->sockets[size_t(peer)] = s;
  }
  close(listener);
  return kSuccess;
}

int ncclCommDestroy(void* communicator) {
  const auto* const ranks = static_cast<Communicator*>(communicator);
  for (const int s : ranks->sockets) {
    if (s >= 0) close(s);
  }
  for (void* result : ranks->results) cudaFreeHost(result);
  delete ranks;
  return kSuccess;
}

int ncclCommAbort(void* communicator) { return ncclCommDestroy(communicator); }

int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation, void* communicator,
                  cudaStream_t stream) {
  if (operation != 0 || (type != kFloat32 && type != kFloat64)) return kInvalidArgument;
  if (cudaStreamSynchronize(stream) != cudaSuccess) return kSystemError;
  auto& ranks = *static_cast<Communicator*>(communicator);
  cause_fault(ranks.rank, stream);
  std::vector<char> values = read(from, count * (type == kFloat32 ? sizeof(float) : sizeof(double)));
  if (!(type == kFloat32 ? add_over_ranks<float> : add_over_ranks<double>)(ranks, values)) return kSystemError;
  return land(ranks, to, values, stream);
}

int ncclGroupStart() {
  ++group.depth;
  return kSuccess;
}
int ncclGroupEnd() { return end_group(); }

// Only inside of a group.
int ncclSend(const void* from, size_t count, int type, int peer, void* communicator, cudaStream_t stream) {
  return add_message(type, peer, communicator, stream, [&](Group::Messages& messages) {
    messages.send = from;
    messages.send_bytes = count;
  });
}

int ncclRecv(void* to, size_t count, int type, int peer, void* communicator, cudaStream_t stream) {
  return add_message(type, peer, communicator, stream, [&](Group::Messages& messages) {
    messages.receive = to;
    messages.receive_bytes = count;
  });
}

}  // extern "C"
