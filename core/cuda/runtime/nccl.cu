// Collectives over GPUs by NCCL, a library that is loaded at run time. Its header is not needed: this file declares the
// part of the interface that Gyre uses, which is the same in all versions from 2.7 on.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>

#include "gyre/core/cuda/runtime/add_parts.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/error.h"
#include "gyre/core/hardware/cuda.h"

namespace gyre::cuda {

using NcclResult = int;  // 0 is success
struct NcclUniqueId {
  char bytes[sizeof(NcclId)];
};
using NcclComm = void*;
constexpr int kNcclInt8 = 0, kNcclFloat32 = 7, kNcclFloat64 = 8, kNcclSum = 0, kNcclInProgress = 7;

class Nccl {
 public:
  // Loads the library at the first call.
  static const Nccl& get();

  const std::string& problem() const { return problem_; }  // empty if the library can be used
  void check(NcclResult status, const char* call) const;   // throws Error if the call failed

  NcclResult (*get_version)(int*) = nullptr;
  NcclResult (*get_unique_id)(NcclUniqueId*) = nullptr;
  NcclResult (*init_rank)(NcclComm*, int size, NcclUniqueId, int rank) = nullptr;
  NcclResult (*all_reduce)(const void* from, void* to, size_t count, int type, int operation, NcclComm,
                           cudaStream_t) = nullptr;
  NcclResult (*send)(const void* from, size_t count, int type, int peer, NcclComm, cudaStream_t) = nullptr;
  NcclResult (*receive)(void* to, size_t count, int type, int peer, NcclComm, cudaStream_t) = nullptr;
  NcclResult (*group_start)() = nullptr;
  NcclResult (*group_end)() = nullptr;
  NcclResult (*get_async_error)(NcclComm, NcclResult*) = nullptr;
  NcclResult (*destroy)(NcclComm) = nullptr;
  NcclResult (*abort)(NcclComm) = nullptr;
  const char* (*error_string)(NcclResult) = nullptr;

 private:
  Nccl();
  template <class F>
  void find(void* library, const char* name, F& function);

  std::string problem_;
};

const Nccl& Nccl::get() {
  static const Nccl nccl;
  return nccl;
}

void Nccl::check(NcclResult status, const char* call) const {
  if (status != 0) throw Error("[nccl] ", call, ": ", error_string(status));
}

Nccl::Nccl() {
  void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    problem_ = concat("NCCL cannot be loaded (", dlerror(), ")");
    return;
  }
  find(library, "ncclGetVersion", get_version);
  find(library, "ncclGetUniqueId", get_unique_id);
  find(library, "ncclCommInitRank", init_rank);
  find(library, "ncclAllReduce", all_reduce);
  find(library, "ncclSend", send);
  find(library, "ncclRecv", receive);
  find(library, "ncclGroupStart", group_start);
  find(library, "ncclGroupEnd", group_end);
  find(library, "ncclCommGetAsyncError", get_async_error);
  find(library, "ncclCommDestroy", destroy);
  find(library, "ncclCommAbort", abort);
  find(library, "ncclGetErrorString", error_string);
}

template <class F>
void Nccl::find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function) problem_ = concat("libnccl.so.2 has no ", name);
}

}  // namespace gyre::cuda

namespace gyre {
namespace cuda {
namespace {

// Collects calls, to start them together. If one of them fails, the destructor closes the group, which then starts
// none: the calls of an open group would wait for ever.
class Group {
 public:
  explicit Group(const Nccl& nccl) : nccl_(nccl) { nccl_.check(nccl_.group_start(), "ncclGroupStart"); }
  ~Group() {
    if (open_) nccl_.group_end();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  void start() {
    open_ = false;
    nccl_.check(nccl_.group_end(), "ncclGroupEnd");
  }

 private:
  const Nccl& nccl_;
  bool open_ = true;
};

// Uses a separate stream, so that communication overlaps with backward kernels on the compute stream.
class NcclCollectives final : public GpuCollectives {
 public:
  NcclCollectives(int index, const NcclId& id, int rank, int size)
      : context_(Context::of(index)), nccl_(Nccl::get()), rank_(rank) {
    require(nccl_.problem().empty(), "[nccl] ", nccl_.problem());
    NcclUniqueId unique{};
    std::memcpy(unique.bytes, id.data(), id.size());
    check(cudaSetDevice(index), "cudaSetDevice");
    // The kernels of NCCL need few multiprocessors. Without priority they would wait until backward leaves some free.
    int lowest = 0, highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest), "cudaStreamCreate");
    for (cudaEvent_t* event : {&ready_, &done_}) {
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
    }
    // Last, because no destructor ends the communicator if the constructor throws.
    nccl_.check(nccl_.init_rank(&communicator_, size, unique, rank), "ncclCommInitRank");
  }
  // After an error, the peers may never join a collective that was started, so the destructor must not wait for it.
  ~NcclCollectives() override {
    if (std::uncaught_exceptions() > 0) {
      nccl_.abort(communicator_);
    } else {
      cudaStreamSynchronize(stream_);
      nccl_.destroy(communicator_);
    }
    cudaEventDestroy(ready_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  void begin() override {
    is_open_ = true;
    follow(stream_, context_.stream(), ready_);
  }
  void finish() override {
    follow(context_.stream(), stream_, done_);
    is_open_ = false;
  }

  bool are_done() const override {
    if (!is_open_) {
      check(cudaSetDevice(context_.index()), "cudaSetDevice");
      const cudaError_t found = cudaEventQuery(done_);
      if (found == cudaSuccess) return true;
      if (found != cudaErrorNotReady) check(found, "cudaEventQuery");
    }
    NcclResult status = 0;
    nccl_.check(nccl_.get_async_error(communicator_, &status), "ncclCommGetAsyncError");
    if (status != kNcclInProgress) nccl_.check(status, "a queued collective");
    return false;
  }

  void all_reduce(const Tensor& values) override {
    const DType dtype = values.dtype();
    require(dtype == DType::f32 || dtype == DType::f64, "[nccl] expected f32 or f64 to add, got ", dtype);
    nccl_.check(nccl_.all_reduce(values.raw(), values.raw(), size_t(values.size()),
                                 dtype == DType::f32 ? kNcclFloat32 : kNcclFloat64, kNcclSum, communicator_, stream_),
                "ncclAllReduce");
  }

  void all_to_all(const std::vector<Tensor>& send, const std::vector<Tensor>& receive) override {
    Group group(nccl_);
    for (int peer = 0; peer < int(send.size()); ++peer) exchange(peer, send[size_t(peer)], receive[size_t(peer)]);
    group.start();
  }

  // Each process sends its piece to all others: as many bytes per link as a ring.
  void all_gather(const std::vector<Tensor>& pieces) override {
    Group group(nccl_);
    for (int peer = 0; peer < int(pieces.size()); ++peer) {
      if (peer != rank_) exchange(peer, pieces[size_t(rank_)], pieces[size_t(peer)]);
    }
    group.start();
  }

  void add_parts(const Tensor& out, const Tensor& parts) override { cuda::add_parts(stream_, out, parts); }

 private:
  // Work queued on `later` after this call waits for the work queued on `earlier` before it.
  static void follow(cudaStream_t later, cudaStream_t earlier, cudaEvent_t event) {
    check(cudaEventRecord(event, earlier), "cudaEventRecord");
    check(cudaStreamWaitEvent(later, event, 0), "cudaStreamWaitEvent");
  }
  void exchange(int peer, const Tensor& send, const Tensor& receive) {
    if (send.bytes() > 0)
      nccl_.check(nccl_.send(send.raw(), send.bytes(), kNcclInt8, peer, communicator_, stream_), "ncclSend");
    if (receive.bytes() > 0)
      nccl_.check(nccl_.receive(receive.raw(), receive.bytes(), kNcclInt8, peer, communicator_, stream_), "ncclRecv");
  }

  Context& context_;
  const Nccl& nccl_;
  int rank_;
  NcclComm communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t ready_ = nullptr, done_ = nullptr;
  std::atomic<bool> is_open_ = false;  // between begin() and finish()
};

}  // namespace
}  // namespace cuda

std::string nccl_problem() { return cuda::Nccl::get().problem(); }

std::string nccl_version() {
  const cuda::Nccl& nccl = cuda::Nccl::get();
  int code = 0;
  nccl.check(nccl.get_version(&code), "ncclGetVersion");
  const int major = code < 10'000 ? 1'000 : 10'000;  // the factor before and from NCCL 2.9 on
  return concat(code / major, '.', code % major / 100, '.', code % 100);
}

NcclId make_nccl_id() {
  const cuda::Nccl& nccl = cuda::Nccl::get();
  cuda::NcclUniqueId unique{};
  nccl.check(nccl.get_unique_id(&unique), "ncclGetUniqueId");
  NcclId id;
  std::memcpy(id.data(), unique.bytes, id.size());
  return id;
}

std::string cuda_uuid(int index) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  std::string text;
  for (const char byte : properties.uuid.bytes) {
    constexpr char digits[] = "0123456789abcdef";
    text += {digits[(byte >> 4) & 15], digits[byte & 15]};
  }
  return text;
}

std::unique_ptr<GpuCollectives> make_gpu_collectives(int index, const NcclId& id, int rank, int size) {
  return std::make_unique<cuda::NcclCollectives>(index, id, rank, size);
}

}  // namespace gyre
