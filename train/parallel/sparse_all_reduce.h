// Sparse all-reduce of the gradients of embedding lookups, separate from the dense gradients of the tables. A tied
// table is also the output layer: that part of its gradient is final when backward begins and is reduced while backward
// runs, whereas the lookup gradients are final last. Only rows that some rank has looked up are communicated: in word
// models a small part of the table.
//
//   begin(); forward; exchange_indices(); start the dense sums; reduce()
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/async_all_reduce.h"
#include "gyre/train/parallel/communicator.h"

namespace gyre {

class SparseAllReduce {
 public:
  // Handles the trainable tables among the parameters. Keeps references. `sum` must not be sharded.
  SparseAllReduce(Communicator& ranks, Kernels& kernels, Parameters& parameters, AsyncAllReduce& sum);
  ~SparseAllReduce();
  SparseAllReduce(const SparseAllReduce&) = delete;
  SparseAllReduce& operator=(const SparseAllReduce&) = delete;

  void begin();             // collects the gradients of lookups that are recorded from now on
  void exchange_indices();  // collective: starts the exchange of the row indices
  // Adds to the gradient of a table: row i of sums (n, features) to row rows[i].
  using AddRows = std::function<void(const Parameter& table, const std::vector<int32_t>& rows, const Tensor& sums)>;
  void reduce(const AddRows& add);  // collective: adds the sums to the gradients of the tables

 private:
  struct Table {
    Parameter& parameter;
    size_t first_mark;
    std::vector<SparseGradient> own;
  };
  Tensor sum_of_rows(const Table& table, const std::vector<int32_t>& rows) const;

  Communicator& ranks_;
  Kernels& kernels_;
  AsyncAllReduce& sum_;
  std::vector<std::unique_ptr<Table>> tables_;  // parameters point into them
  std::vector<float> marks_;                    // number of ranks that have looked up a row, for the rows of all tables
};

}  // namespace gyre
