// The exchanges of gradients and weights in shared memory (train/parallel/shared_memory.h). Every rank of a machine has
// a share of a range of elements. A sum adds the parts of all ranks within this share, in the order of a tree; a gather
// gives every rank the elements of all shares.
#pragma once

#include <memory>
#include <vector>

#include "gyre/core/tensor.h"
#include "gyre/train/parallel/optimizer_partition.h"
#include "gyre/train/parallel/shared_memory.h"
#include "gyre/train/parallel/tree_reduction.h"

namespace gyre {

// By rank of the machine: parts of a range, relative to its begin. No two ranks have the same element.
using Shares = std::vector<std::vector<ElementRange>>;

struct WindowSum {
  int rank = 0;  // index of this rank among those of the machine
  Shares shares{};
  std::vector<Tensor> parts{};             // parts of this rank, f32, of the range's size
  std::vector<int> parts_of{};             // number of parts by rank
  const TreeAdder* adder = nullptr;        // tree over the parts of all ranks in rank order
  std::vector<MicroBatchRange> outputs{};  // nodes of the adder's tree
  std::vector<Tensor> sums{};              // outputs: the sums of this rank's share. The last one may be the last part.
  DType comm_dtype = DType::f32;
  bool gathers = false;  // the only output receives the sums of all shares
};
std::unique_ptr<WindowTask> make_window_sum(WindowSum sum);

// Whether a slot has room for sums over this many ranks with at most this many parts each.
bool fits_window(int ranks, int parts);

// values: f32, of the range's size.
std::unique_ptr<WindowTask> make_window_gather(int rank, const Shares& shares, const Tensor& values);

}  // namespace gyre
