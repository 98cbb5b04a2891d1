// Runs the small kernels of the emulator's tests.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/cuda/runtime/launch.h"

namespace cuda_emulation {

inline cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  gyre::cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}

// Waits for a stream. Returns the mistake that the emulator found, or "".
inline std::string mistake_on(cudaStream_t stream) {
  const cudaError_t status = cudaStreamSynchronize(stream);
  return status == cudaSuccess ? "" : cudaGetErrorString(status);
}

// Launches a kernel and waits for it. Returns the mistake, or "". `shared`: bytes of dynamic shared memory.
template <class... P, class... A>
std::string mistake_in(void (*kernel)(P...), dim3 blocks, dim3 threads, size_t shared, const A&... arguments) {
  static const cudaStream_t stream = new_stream();
  gyre::cuda::launch(kernel, blocks, threads, shared, stream, arguments...);
  return mistake_on(stream);
}

// Device memory, which holds NaN at first.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t size) : size_(size) {
    void* data = nullptr;
    gyre::cuda::check(cudaMalloc(&data, size * sizeof(T)), "cudaMalloc");
    data_ = static_cast<T*>(data);
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    std::copy(values.begin(), values.end(), data_);  // the emulated GPU shares the CPU's memory
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::vector<T> values() const { return {data_, data_ + size_}; }

 private:
  T* data_;
  size_t size_;
};

}  // namespace cuda_emulation
