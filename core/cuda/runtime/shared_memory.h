// Dynamic shared memory of kernels.
#pragma once

namespace gyre::cuda {

// The block's dynamic shared memory, of the size that was passed to launch() (launch.h), aligned to 128 bytes.
template <class T>
__device__ T* shared_memory() {
  extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
  return reinterpret_cast<T*>(dynamic_shared_memory);
}

}  // namespace gyre::cuda
