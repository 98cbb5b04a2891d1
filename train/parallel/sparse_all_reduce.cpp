#include "gyre/train/parallel/sparse_all_reduce.h"

#include <algorithm>
#include <utility>

namespace gyre {

SparseAllReduce::SparseAllReduce(Communicator& ranks, Kernels& kernels, Parameters& parameters, AsyncAllReduce& sum)
    : ranks_(ranks), kernels_(kernels), sum_(sum) {
  size_t rows = 0;
  for (Parameter& p : parameters) {
    if (!p.is_table || !p.trainable) continue;
    tables_.push_back(std::make_unique<Table>(Table{p, rows, {}}));
    rows += size_t(p.shape[0]);
  }
  marks_.resize(rows);
}

SparseAllReduce::~SparseAllReduce() {
  for (const auto& table : tables_) table->parameter.sparse_gradients = nullptr;
}

void SparseAllReduce::begin() {
  for (const auto& table : tables_) table->parameter.sparse_gradients = &table->own;
}

void SparseAllReduce::exchange_indices() {
  std::fill(marks_.begin(), marks_.end(), 0.0F);
  for (const auto& table : tables_) {
    for (const SparseGradient& g : table->own) {
      for (const int32_t id : g.ids.span<int32_t>()) marks_[table->first_mark + size_t(id)] = 1;
    }
  }
  ranks_.start_all_reduce(marks_, [] {});
}

void SparseAllReduce::reduce(const AddRows& add) {
  ranks_.finish();
  std::vector<std::pair<std::vector<int32_t>, Tensor>> sums;  // row indices and the sums of the rows, by table
  for (const auto& table : tables_) {
    std::vector<int32_t> rows;
    for (int32_t row = 0; row < table->parameter.shape[0]; ++row) {
      if (marks_[table->first_mark + size_t(row)] > 0) rows.push_back(row);
    }
    const Tensor sum = rows.empty() ? Tensor() : sum_of_rows(*table, rows);
    sums.emplace_back(std::move(rows), sum);
  }
  sum_.finish();
  for (size_t i = 0; i < tables_.size(); ++i) {
    const auto& [rows, sum] = sums[i];
    if (sum) add(tables_[i]->parameter, rows, sum);
    tables_[i]->own.clear();
    tables_[i]->parameter.sparse_gradients = nullptr;
  }
}

// Starts the sum of these rows over the ranks. Returns the tensor that receives it, (rows, features).
Tensor SparseAllReduce::sum_of_rows(const Table& table, const std::vector<int32_t>& rows) const {
  std::vector<int32_t> place(size_t(table.parameter.shape[0]));
  for (size_t i = 0; i < rows.size(); ++i) place[size_t(rows[i])] = int32_t(i);
  const Tensor& value = table.parameter.value;
  Tensor own = Tensor::zeros({int64_t(rows.size()), table.parameter.shape[1]}, value.dtype(), value.device());
  for (const SparseGradient& g : table.own) {
    if (!g.gradient) continue;  // backward did not reach it
    std::vector<int32_t> places;
    for (const int32_t id : g.ids.span<int32_t>()) places.push_back(place[size_t(id)]);
    kernels_.embedding_backward(own, g.gradient, Tensor::from({int64_t(places.size())}, places), g.factor);
  }
  const Tensor flat = own.reshape({own.size()});
  for (int64_t at = 0; at < flat.size(); at += Communicator::kMaxElementsPerCall)
    sum_.start({flat.slice(at, std::min(flat.size(), at + Communicator::kMaxElementsPerCall))}, kSharedByRanks);
  return own;
}

}  // namespace gyre
