#include <dlfcn.h>

#include "gyre/core/cuda/runtime/nccl_library.h"
#include "gyre/core/error.h"

namespace gyre::cuda {

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
  find(library, "ncclGetUniqueId", get_unique_id);
  find(library, "ncclCommInitRank", init_rank);
  find(library, "ncclAllReduce", all_reduce);
  find(library, "ncclSend", send);
  find(library, "ncclRecv", receive);
  find(library, "ncclGroupStart", group_start);
  find(library, "ncclGroupEnd", group_end);
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
