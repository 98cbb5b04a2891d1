#include "gyre/train/parallel/sharded_gradients.h"

#include <algorithm>
#include <utility>

namespace gyre {
namespace {

// Part of a range, relative to the begin of another one.
Tensor slice_of(const Tensor& values, ElementRange part, int64_t first) {
  return values.slice(part.begin - first, part.end - first);
}

}  // namespace

ShardedGradients::ShardedGradients(Kernels& kernels, Parameters& parameters, std::vector<ElementRange> owned)
    : kernels_(kernels), parameters_(parameters), owned_(std::move(owned)), taken_(parameters.count()) {
  parameters.free_gradients();
  const Tensor values = parameters.values();
  sums_ = Tensor::zeros({owned_.elements()}, values.dtype(), values.device());
}

Tensor ShardedGradients::take(ElementRange range) {
  const Tensor arena = parameters_.values();
  Tensor values = Tensor::zeros({range.size()}, arena.dtype(), arena.device());
  for (Parameter& p : parameters_) {
    const ElementRange own = element_range(p);
    const ElementRange both{std::max(own.begin, range.begin), std::min(own.end, range.end)};
    if (both.begin >= both.end) continue;
    if (p.gradient) {
      const Tensor gradient = p.gradient.reshape({own.size()});
      slice_of(values, both, range.begin).copy_from(slice_of(gradient, both, own.begin));
    }
    int64_t& taken = taken_[size_t(p.index)];
    taken += both.size();
    if (taken < own.size()) continue;
    taken = 0;
    p.gradient = {};
  }
  return values;
}

void ShardedGradients::add(ElementRange range, const Tensor& sums) const {
  const int64_t begin = owned_.position(range.begin);
  const Tensor own = sums_.slice(begin, begin + range.size());
  kernels_.add(own, own, sums);
}

void ShardedGradients::add_rows(const Parameter& table, const std::vector<int32_t>& rows, const Tensor& sums) const {
  const int64_t width = table.shape[1];
  for (const ElementRange& own : intersection(owned_.ranges(), {element_range(table)})) {
    // The rows of which this rank owns elements.
    const auto first_row = int32_t((own.begin - table.offset) / width);
    const auto past_row = int32_t((own.end - table.offset + width - 1) / width);
    const auto first = std::lower_bound(rows.begin(), rows.end(), first_row);
    const auto past = std::lower_bound(first, rows.end(), past_row);
    if (first == past) continue;
    std::vector<int32_t> places;
    for (auto row = first; row != past; ++row) places.push_back(*row - first_row);
    const Tensor dense = Tensor::zeros({past_row - first_row, width}, sums.dtype(), sums.device());
    kernels_.embedding_backward(dense, sums.slice(first - rows.begin(), past - rows.begin()),
                                Tensor::from({int64_t(places.size())}, places), 1);
    add(own, slice_of(dense.reshape({dense.size()}), own, table.offset + first_row * width));
  }
}

}  // namespace gyre
