// The NCCL library, loaded at run time. Its header is not needed: this file declares the part of the interface that
// Gyre uses, which is the same in all versions from 2.7 on.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "gyre/core/hardware/cuda.h"

namespace gyre::cuda {

using NcclResult = int;  // 0 is success
struct NcclUniqueId {
  char bytes[sizeof(NcclId)];
};
using NcclComm = void*;
constexpr int kNcclInt8 = 0, kNcclFloat32 = 7, kNcclFloat64 = 8, kNcclSum = 0;

class Nccl {
 public:
  // Loads the library at the first call.
  static const Nccl& get();

  const std::string& problem() const { return problem_; }  // empty if the library can be used
  void check(NcclResult status, const char* call) const;   // throws Error if the call failed

  NcclResult (*get_unique_id)(NcclUniqueId*) = nullptr;
  NcclResult (*init_rank)(NcclComm*, int size, NcclUniqueId, int rank) = nullptr;
  NcclResult (*all_reduce)(const void* from, void* to, size_t count, int type, int operation, NcclComm,
                           cudaStream_t) = nullptr;
  NcclResult (*send)(const void* from, size_t count, int type, int peer, NcclComm, cudaStream_t) = nullptr;
  NcclResult (*receive)(void* to, size_t count, int type, int peer, NcclComm, cudaStream_t) = nullptr;
  NcclResult (*group_start)() = nullptr;
  NcclResult (*group_end)() = nullptr;
  NcclResult (*destroy)(NcclComm) = nullptr;
  NcclResult (*abort)(NcclComm) = nullptr;
  const char* (*error_string)(NcclResult) = nullptr;

 private:
  Nccl();
  template <class F>
  void find(void* library, const char* name, F& function);

  std::string problem_;
};

}  // namespace gyre::cuda
