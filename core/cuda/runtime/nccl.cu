// All-reduce over GPUs by NCCL. The library is loaded at run time, and its header is not needed: this file declares the
// part of the interface that it uses, which is the same in all 2.x versions.
#include <dlfcn.h>

#include <cstring>
#include <exception>

#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/hardware/cuda.h"

namespace gyre {
namespace cuda {
namespace {

using NcclResult = int;  // 0 is success
struct NcclUniqueId {
  char bytes[sizeof(NcclId)];
};
using NcclComm = void*;
constexpr int kNcclFloat32 = 7, kNcclSum = 0;

class Nccl {
 public:
  // Loads the library at the first call.
  static const Nccl& get() {
    static const Nccl nccl;
    return nccl;
  }

  const std::string& problem() const { return problem_; }
  void check(NcclResult status, const char* call) const {
    if (status != 0) throw Error("[nccl] ", call, ": ", error_string(status));
  }

  NcclResult (*get_unique_id)(NcclUniqueId*) = nullptr;
  NcclResult (*init_rank)(NcclComm*, int size, NcclUniqueId, int rank) = nullptr;
  NcclResult (*all_reduce)(const void* from, void* to, size_t count, int type, int operation, NcclComm,
                           cudaStream_t) = nullptr;
  NcclResult (*destroy)(NcclComm) = nullptr;
  NcclResult (*abort)(NcclComm) = nullptr;
  const char* (*error_string)(NcclResult) = nullptr;

 private:
  Nccl() {
    void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      problem_ = concat("NCCL cannot be loaded (", dlerror(), ")");
      return;
    }
    find(library, "ncclGetUniqueId", get_unique_id);
    find(library, "ncclCommInitRank", init_rank);
    find(library, "ncclAllReduce", all_reduce);
    find(library, "ncclCommDestroy", destroy);
    find(library, "ncclCommAbort", abort);
    find(library, "ncclGetErrorString", error_string);
  }

  template <class F>
  void find(void* library, const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(library, name));
    if (!function) problem_ = concat("libnccl.so.2 has no ", name);
  }

  std::string problem_;
};

// Uses a separate stream, so that the all-reduce overlaps with backward kernels on the compute stream.
class NcclAllReduce final : public GpuAllReduce {
 public:
  NcclAllReduce(int index, const NcclId& id, int rank, int size) : context_(Context::of(index)), nccl_(Nccl::get()) {
    require(nccl_.problem().empty(), "[nccl] ", nccl_.problem());
    NcclUniqueId unique{};
    std::memcpy(unique.bytes, id.data(), id.size());
    check(cudaSetDevice(index), "cudaSetDevice");
    nccl_.check(nccl_.init_rank(&communicator_, size, unique, rank), "ncclCommInitRank");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    for (cudaEvent_t* event : {&ready_, &done_}) {
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
    }
  }
  // After an error, the peers may never join a collective that was started, so the destructor must not wait for it.
  ~NcclAllReduce() override {
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
  NcclAllReduce(const NcclAllReduce&) = delete;
  NcclAllReduce& operator=(const NcclAllReduce&) = delete;

  void start(const Tensor& values) override {
    follow(stream_, context_.stream(), ready_);
    float* data = values.data<float>();
    nccl_.check(nccl_.all_reduce(data, data, size_t(values.size()), kNcclFloat32, kNcclSum, communicator_, stream_),
                "ncclAllReduce");
  }
  void finish() override { follow(context_.stream(), stream_, done_); }

 private:
  // Work queued on `later` after this call waits for the work queued on `earlier` before it.
  static void follow(cudaStream_t later, cudaStream_t earlier, cudaEvent_t event) {
    check(cudaEventRecord(event, earlier), "cudaEventRecord");
    check(cudaStreamWaitEvent(later, event, 0), "cudaStreamWaitEvent");
  }

  Context& context_;
  const Nccl& nccl_;
  NcclComm communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t ready_ = nullptr, done_ = nullptr;
};

}  // namespace
}  // namespace cuda

std::string nccl_problem() { return cuda::Nccl::get().problem(); }

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

std::unique_ptr<GpuAllReduce> make_gpu_all_reduce(int index, const NcclId& id, int rank, int size) {
  return std::make_unique<cuda::NcclAllReduce>(index, id, rank, size);
}

}  // namespace gyre
