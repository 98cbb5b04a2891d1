#include <algorithm>
#include <cstring>
#include <new>

#include "gyre/core/cuda/runtime/check.h"
#include "gyre/core/cuda/runtime/uploads.h"

namespace gyre::cuda {
namespace {

constexpr size_t kRegion = size_t{16} << 20;
constexpr size_t kStaging = size_t{4} << 20;
constexpr size_t kFewCopies = 512;
// A copy is dropped after this number of calls without a use, even if its host memory still exists (as for slices of a
// long-lived tensor). The number spans many training steps, so that no copy is dropped that the next kernel needs.
constexpr uint64_t kForgetAfter = 16384;

}  // namespace

Uploads::Uploads(cudaStream_t compute) : compute_(compute), device_(kRegion), sweep_at_(kFewCopies) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming), "cudaEventCreate");
  void* staging = nullptr;
  check(cudaMallocHost(&staging, kStaging), "cudaMallocHost");
  staging_ = static_cast<std::byte*>(staging);
}

const std::byte* Uploads::copy_of(const Tensor& host) {
  require(host.device() == Device{}, "[cuda] expected ids, positions or targets on the CPU, got them on ",
          host.device());
  const void* data = host.raw();
  const size_t bytes = host.bytes();
  const std::shared_ptr<const void> owner = host.owner();
  if (bytes == 0) return nullptr;
  require(owner != nullptr, "[cuda] expected ids, positions or targets that own their memory");
  ++calls_;
  const Key key{data, bytes};
  auto found = copies_.find(key);
  if (found != copies_.end() && (found->second.host.owner_before(owner) || owner.owner_before(found->second.host))) {
    retire({found->second.device});
    copies_.erase(found);
    found = copies_.end();
  }
  if (found == copies_.end()) {
    if (copies_.size() >= sweep_at_) retire_unused();
    reclaim();
    found = copies_.emplace(key, Copy{owner, send(data, bytes), calls_}).first;
  }
  found->second.last_use = calls_;
  return found->second.device;
}

// Copies host memory to a new block. The compute stream waits for the copy. The copy need not wait for the compute
// stream, because the block is new or all kernels that read it have finished.
std::byte* Uploads::send(const void* data, size_t bytes) {
  std::byte* device = nullptr;
  try {
    device = device_.take(bytes);
  } catch (const std::bad_alloc&) {
    throw Error("[cuda] out of memory: cannot allocate ", bytes, " bytes for the ids of a batch");
  }
  for (size_t done = 0; done < bytes;) {
    if (staged_ == kStaging) {
      check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize(copies)");
      staged_ = 0;
    }
    const size_t part = std::min(bytes - done, kStaging - staged_);
    std::memcpy(staging_ + staged_, static_cast<const std::byte*>(data) + done, part);
    check(cudaMemcpyAsync(device + done, staging_ + staged_, part, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
    staged_ += part;
    done += part;
  }
  check(cudaEventRecord(arrived_, stream_), "cudaEventRecord");
  check(cudaStreamWaitEvent(compute_, arrived_), "cudaStreamWaitEvent");
  return device;
}

// Frees the blocks when the compute stream reaches this point; all kernels that read them are queued before.
void Uploads::retire(std::vector<std::byte*> blocks) {
  Retired retired{std::move(blocks), nullptr};
  check(cudaEventCreateWithFlags(&retired.last_use, cudaEventDisableTiming), "cudaEventCreate");
  check(cudaEventRecord(retired.last_use, compute_), "cudaEventRecord");
  retired_.push_back(std::move(retired));
}

void Uploads::retire_unused() {
  std::vector<std::byte*> blocks;
  for (auto copy = copies_.begin(); copy != copies_.end();) {
    const bool unused = copy->second.host.expired() || calls_ - copy->second.last_use > kForgetAfter;
    if (unused) blocks.push_back(copy->second.device);
    copy = unused ? copies_.erase(copy) : std::next(copy);
  }
  if (!blocks.empty()) retire(std::move(blocks));
  sweep_at_ = std::max(kFewCopies, 2 * copies_.size());
}

void Uploads::reclaim() {
  while (!retired_.empty()) {
    const Retired& oldest = retired_.front();
    const cudaError_t status = cudaEventQuery(oldest.last_use);
    if (status == cudaErrorNotReady) return;
    check(status, "cudaEventQuery");
    check(cudaEventDestroy(oldest.last_use), "cudaEventDestroy");
    for (std::byte* block : oldest.blocks) device_.give_back(block);
    retired_.pop_front();
  }
}

}  // namespace gyre::cuda
