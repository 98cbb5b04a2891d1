// Gradients of looked-up rows, summed over the ranks apart from the rest of their tables' gradients. A tied table is
// the output layer too: that part is final when backward begins, and can travel all through it, while the lookups are
// the last to end. Only rows that some rank has looked up travel then: in word models a small part of the table.
//
//   keep_apart(); forward; announce(); the rest of the gradients is on its way; add()
#pragma once

#include <memory>
#include <vector>

#include "autograd/parameters.h"
#include "core/kernels.h"
#include "train/communicator.h"
#include "train/range_sum.h"

namespace gyre {

class RowSums {
 public:
  // Of the trainable tables among the parameters. Keeps references; `sum` must give every rank all sums.
  RowSums(Communicator& ranks, Kernels& kernels, Parameters& parameters, RangeSum& sum);
  ~RowSums();
  RowSums(const RowSums&) = delete;
  RowSums& operator=(const RowSums&) = delete;

  void keep_apart();  // what lookups recorded from here on leave
  void announce();    // collective: starts to tell other ranks which rows they are
  void add();         // collective: adds the sums to the gradients of the tables

 private:
  struct Table {
    Parameter& parameter;
    size_t first_mark;
    std::vector<RowGradient> own;
  };
  Tensor sum_of_rows(const Table& table, const std::vector<int32_t>& rows) const;

  Communicator& ranks_;
  Kernels& kernels_;
  RangeSum& sum_;
  std::vector<std::unique_ptr<Table>> tables_;  // parameters point into them
  std::vector<float> marks_;                    // of each row of all tables: how many ranks have looked it up
};

}  // namespace gyre
