// The functions of include/cuda_runtime.h.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda_emulation/accesses/accesses.h"
#include "tests/cuda_emulation/accesses/recording.h"
#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/memory.h"
#include "tests/cuda_emulation/report.h"
#include "tests/cuda_emulation/shared_sizes.h"
#include "tests/cuda_emulation/streams.h"
#include "tests/cuda_emulation/symbols.h"

namespace emulation = cuda_emulation;
using emulation::lock_gpu;
using emulation::MemoryKind, emulation::RecordedWork, emulation::WorkKind, emulation::record_work;

namespace {

constexpr int kCapability = 9, kDriver = 13000;
constexpr int kPoison = 0xFF;  // memsets to it are those of GYRE_CUDA_POISON (core/cuda/runtime/context.h)

// The error of a call that waits: a mistake that the work has made.
cudaError_t waited() {
  if (!emulation::has_report()) return cudaSuccess;
  emulation::take_report();
  return cudaErrorLaunchFailure;
}

// The error of a call that frees memory. The mistake is left to the next call that waits, as on a GPU, where all later
// calls return it.
cudaError_t freed() { return emulation::has_report() ? cudaErrorLaunchFailure : cudaSuccess; }

const char* copy_name(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDeviceToDevice) return "copy";
  return kind == cudaMemcpyHostToDevice ? "copy to device" : "copy to host";
}

}  // namespace

// ---- Errors and devices --------------------------------------------------------------------------------------------

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNoKernelImageForDevice:
      return "no kernel image is available for execution on the device";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorLaunchFailure:
      return emulation::last_report().c_str();
    default:
      return "unknown error";
  }
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kDriver;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = kCapability;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = int(emulation::most_shared());
      break;
  }
  return cudaSetDevice(device);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {.name = "emulated GPU", .uuid = {}, .totalGlobalMem = emulation::device_memory()};
  // All processes seem to share a GPU, unless each is to have its own.
  if (const pid_t process = getpid(); std::getenv("GYRE_CUDA_EMULATION_OWN_GPUS"))
    std::memcpy(properties->uuid.bytes, &process, sizeof process);
  return cudaSetDevice(device);
}

// ---- Memory --------------------------------------------------------------------------------------------------------

cudaError_t cudaMalloc(void** data, size_t bytes) {
  const auto lock = lock_gpu();
  *data = emulation::allocate(MemoryKind::device, bytes);
  return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaMallocHost(void** data, size_t bytes) {
  const auto lock = lock_gpu();
  *data = emulation::allocate(MemoryKind::pinned, bytes);
  return *data ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void* data) {
  const auto lock = lock_gpu();
  emulation::wait_for_everything();
  if (!data || emulation::release(MemoryKind::device, data)) return freed();
  return cudaErrorInvalidValue;
}

cudaError_t cudaFreeHost(void* data) {
  const auto lock = lock_gpu();
  emulation::wait_for_everything();
  if (!data || emulation::release(MemoryKind::pinned, data)) return freed();
  return cudaErrorInvalidValue;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const auto lock = lock_gpu();
  *total = emulation::device_memory();
  *free = *total - std::min(*total, emulation::allocated_bytes());
  return cudaSuccess;
}

// Pageable memory is read at the call and written before the call returns; pinned memory when the copy runs. The driver
// may wait for the stream before it reads pageable memory, so such a copy counts as a wait.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const auto lock = lock_gpu();
  if (bytes == 0) return cudaSuccess;
  const bool from_gpu = kind != cudaMemcpyHostToDevice, to_gpu = kind != cudaMemcpyDeviceToHost;
  if (from_gpu != emulation::contains(MemoryKind::device, from, bytes)) return cudaErrorInvalidValue;
  if (to_gpu != emulation::contains(MemoryKind::device, to, bytes)) return cudaErrorInvalidValue;
  const RecordedWork work{WorkKind::copy, copy_name(kind), from_gpu ? bytes : 0, to_gpu ? bytes : 0};
  const bool waits = !emulation::contains(MemoryKind::pinned, from_gpu ? to : from, bytes) && !(from_gpu && to_gpu);
  if (from_gpu || !waits) {
    emulation::queue(stream, [=] {
      std::memmove(to, from, bytes);
      record_work(work);
    });
  } else {
    const auto* first = static_cast<const std::byte*>(from);
    emulation::queue(stream, [to, staged = std::vector<std::byte>(first, first + bytes), work] {
      std::memcpy(to, staged.data(), staged.size());
      record_work(work);
    });
  }
  if (waits) emulation::wait_for_stream(stream);
  return waits ? waited() : cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  const auto lock = lock_gpu();
  if (!emulation::contains(MemoryKind::device, data, bytes)) return cudaErrorInvalidValue;
  emulation::queue(stream, [=] {
    std::memset(data, value, bytes);
    if (value != kPoison) record_work({WorkKind::memset, "memset", 0, bytes});
  });
  return cudaSuccess;
}

// ---- Streams and events --------------------------------------------------------------------------------------------

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const auto lock = lock_gpu();
  *stream = emulation::add_stream();
  return cudaSuccess;
}

// Priorities are hints, which the emulator does not take.
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = *highest = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const auto lock = lock_gpu();
  emulation::wait_for_stream(stream);
  return waited();
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const auto lock = lock_gpu();
  emulation::remove_stream(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const auto lock = lock_gpu();
  emulation::queue_wait(stream, event->state);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const auto lock = lock_gpu();
  emulation::queue_record(stream, event->state);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const auto lock = lock_gpu();
  emulation::run_something();
  return event->state->done < event->state->recorded ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const auto lock = lock_gpu();
  emulation::wait_until_done(*event->state);
  return waited();
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  const auto lock = lock_gpu();
  *milliseconds = std::chrono::duration<float, std::milli>(stop->state->time - start->state->time).count();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

// ---- Launches ------------------------------------------------------------------------------------------------------

namespace cuda_emulation {
namespace {

// Bytes of dynamic shared memory that were allowed by cudaFuncSetAttribute(), by kernel.
std::map<const void*, size_t>& allowed_shared() {
  static std::map<const void*, size_t> bytes;
  return bytes;
}

bool is_valid(const dim3& grid, const dim3& block) {
  constexpr size_t kMostThreads = 1024, kMostThreadsZ = 64, kMostBlocks = 65535, kMostBlocksX = 0x7FFFFFFF;
  const size_t threads = size_t(block.x) * block.y * block.z;
  return threads > 0 && threads <= kMostThreads && block.z <= kMostThreadsZ && grid.x > 0 && grid.y > 0 && grid.z > 0 &&
         grid.x <= kMostBlocksX && grid.y <= kMostBlocks && grid.z <= kMostBlocks;
}

}  // namespace

cudaError_t allow_shared_memory(const void* kernel, int bytes) {
  const auto lock = lock_gpu();
  if (bytes < 0 || size_t(bytes) > most_shared()) return cudaErrorInvalidValue;
  allowed_shared()[kernel] = size_t(bytes);
  return cudaSuccess;
}

cudaError_t queue_launch(const cudaLaunchConfig_t& config, const void* kernel, std::function<void()> thread) {
  const auto lock = lock_gpu();
  const auto &grid = config.gridDim, &block = config.blockDim;
  const auto asked = allowed_shared().find(kernel);
  const bool has_asked = asked != allowed_shared().end();
  if (!is_valid(grid, block) || config.dynamicSmemBytes > (has_asked ? asked->second : kSharedWithoutAsking))
    return cudaErrorInvalidValue;
  const Launch launch{.kernel = function_name(kernel),
                      .grid = {grid.x, grid.y, grid.z},
                      .block = {block.x, block.y, block.z},
                      .dynamic_shared = config.dynamicSmemBytes,
                      .allowed_shared = has_asked ? most_shared() : kSharedWithoutAsking,
                      .thread = std::move(thread)};
  note_shared_memory(kernel, launch);
  queue_kernel(config.stream, [launch] {
    if (has_report()) return;
    begin_accesses(is_recording());
    BlockRunner(launch).run();
    const AccessedBytes bytes = end_accesses();
    record_work({WorkKind::kernel, launch.kernel, bytes.read, bytes.written});
  });
  return cudaSuccess;
}

}  // namespace cuda_emulation

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  return std::getenv("GYRE_CUDA_EMULATION_NO_CODE") ? cudaErrorNoKernelImageForDevice : cudaSuccess;
}

cudaError_t cudaFuncGetName(const char** name, const void* kernel) {
  static std::string text;
  text = emulation::function_name(kernel);
  *name = text.c_str();
  return cudaSuccess;
}
