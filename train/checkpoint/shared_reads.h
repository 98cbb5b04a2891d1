// Collective reads of the tensors of a checkpoint, which all ranks must make in the same order.
#pragma once

#include <functional>
#include <vector>

#include "gyre/core/tensor.h"
#include "gyre/train/checkpoint/manifest.h"

namespace gyre {

// Replaces the sources of the tensors by ones that may be read in any order, as files are written: wide types come
// first. The reads themselves keep the order of the files, which is that of the other ranks: a tensor that is written
// earlier waits for the reads before its own, whose results are kept. If writing fails, the destructor makes the
// remaining reads.
class SharedReads {
 public:
  explicit SharedReads(std::vector<TensorFile>& files);
  ~SharedReads();
  SharedReads(const SharedReads&) = delete;
  SharedReads& operator=(const SharedReads&) = delete;

 private:
  Tensor take(size_t number);

  std::vector<std::function<Tensor()>> reads_;  // reads in the order of all ranks
  std::vector<Tensor> results_;                 // results of reads that were made before they were asked for
  size_t made_ = 0;
};

}  // namespace gyre
