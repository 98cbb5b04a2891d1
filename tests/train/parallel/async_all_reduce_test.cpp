#include <doctest/doctest.h>

#include "gyre/train/parallel/all_reduce.h"

namespace gyre::test {
namespace {

TEST_CASE("MPI adds gradients in GPU memory only for fp32 sums in any order that all ranks receive") {
  const SelfCommunicator takes_gpu_memory;
  CHECK(mpi_adds_on_gpus(takes_gpu_memory, {}));
  CHECK_FALSE(mpi_adds_on_gpus(takes_gpu_memory, {.tree_leaves = 8}));
  CHECK_FALSE(mpi_adds_on_gpus(takes_gpu_memory, {.comm_dtype = DType::bf16}));
  CHECK_FALSE(mpi_adds_on_gpus(takes_gpu_memory, {.sharded = true}));
}

}  // namespace
}  // namespace gyre::test
