// Copies of a few numbers to pinned CPU memory. Each has an event, so that waiting for it does not wait for later work.
#include <mutex>
#include <vector>

#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/hardware/cuda.h"

namespace gyre {
namespace cuda {
namespace {

struct Slot {
  void* pinned = nullptr;
  cudaEvent_t arrived = nullptr;
};

// Slots are reused, because allocating pinned memory waits for the GPU. A slot may be reused before its copy has run:
// copies run in the order of the compute stream.
class Slots {
 public:
  static Slots& get() {
    static auto* slots = new Slots();  // never destroyed, like the context
    return *slots;
  }

  Slot take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      Slot fresh;
      check(cudaMallocHost(&fresh.pinned, kCudaReadbackBytes), "cudaMallocHost");
      check(cudaEventCreateWithFlags(&fresh.arrived, cudaEventDisableTiming), "cudaEventCreate");
      return fresh;
    }
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(Slot slot) {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }

 private:
  std::mutex mutex_;
  std::vector<Slot> free_;
};

// A slot for the lifetime of the object.
struct TakenSlot : Slot {
  TakenSlot() : Slot(Slots::get().take()) {}
  ~TakenSlot() { Slots::get().give_back(*this); }
  TakenSlot(const TakenSlot&) = delete;
  TakenSlot& operator=(const TakenSlot&) = delete;
};

class Readback final : public CudaReadback {
 public:
  Readback(const Context& context, const void* from, size_t bytes) {
    check(cudaMemcpyAsync(slot_.pinned, from, bytes, cudaMemcpyDeviceToHost, context.stream()), "cudaMemcpyAsync");
    check(cudaEventRecord(slot_.arrived, context.stream()), "cudaEventRecord");
  }

  const void* wait() override {
    check(cudaEventSynchronize(slot_.arrived), "cudaEventSynchronize");
    return slot_.pinned;
  }

 private:
  TakenSlot slot_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<CudaReadback> cuda_read_back(int index, const void* from, size_t bytes) {
  require(bytes <= kCudaReadbackBytes, "[cuda] expected at most ", kCudaReadbackBytes, " bytes to read back, got ",
          bytes);
  return std::make_unique<cuda::Readback>(cuda::Context::of(index), from, bytes);
}

}  // namespace gyre
