#include <algorithm>

#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/composed.h"
#include "gyre/autograd/ops/formula.h"
#include "gyre/autograd/ops/operands.h"

namespace gyre {
namespace {

Var composed_embedding(const Var& table, const Tensor& ids, double factor) { return factor * gather_rows(table, ids); }

// Backward adds rows with the same id in order of position, so results are deterministic. With a list of sparse
// gradients (`sparse_gradients`) it stores dy in the list instead.
struct Embedding final : Op {
  std::string_view formula() const override {
    return R"(
      y = factor * table[ids], zeros for an id of -1
        dtable[ids] += factor * dy
    )"_formula;
  }
  Tensor ids;
  double factor = 1;
  bool gathers = false;
  std::vector<SparseGradient>* sparse_gradients = nullptr;
  size_t place = 0;
  std::string_view name() const override { return gathers ? "gather_rows" : "embedding"; }
  bool has_sparse_gradient() const override { return sparse_gradients != nullptr; }
  void describe(OpMetadata& metadata) const override {
    if (factor != 1) metadata.attribute("factor", factor);
    if (sparse_gradients) metadata.attribute("gradient", "sparse");
    metadata.save("ids", ids);
  }
  void backward(Backward& b) override {
    if (sparse_gradients) {
      (*sparse_gradients)[place].gradient = b.doutput();
    } else {
      b.kernels().embedding_backward(b.dparameter(0), b.doutput(), ids, factor);
    }
  }
};

Var record_rows(std::unique_ptr<Embedding> op, const Var& table, const Tensor& ids, DType dtype) {
  op->ids = ids;
  op->sparse_gradients = table.tape().sparse_gradients(table);
  if (op->sparse_gradients) {
    op->place = op->sparse_gradients->size();
    op->sparse_gradients->push_back({ids, {}, op->factor});
  }
  const Tensor y = Tensor::empty({ids.size(), table.shape()[1]}, dtype, table.value().device());
  table.kernels().embedding(y, table.value(), ids, op->factor);
  return table.tape().record(std::move(op), y, {table});
}

}  // namespace

Var embedding(const Var& table, const Tensor& ids, double factor) {
  require(table.shape().rank() == 2, "[embedding] the table must be (v,d), got ", table.shape());
  require_integers("embedding", "ids", ids);
  for (const int32_t id : ids.span<int32_t>()) {
    require(id >= 0 && id < table.shape()[0], "[embedding] ids must be below the table's ", table.shape()[0],
            " rows, got ", id);
  }
  const DType dtype = table.tape().data_dtype(table.value());
  if (!table.tape().fused(&Kernels::embedding_op)) return stored(composed_embedding(table, ids, factor), dtype);
  auto op = std::make_unique<Embedding>();
  op->factor = factor;
  return record_rows(std::move(op), table, ids, dtype);
}

Var gather_rows(const Var& x, const Tensor& index) {
  require_operands("gather_rows", {x});
  require_matrix("gather_rows", x);
  require_integers("gather_rows", "an index", index);
  int32_t least = 0;
  for (const int32_t row : index.span<int32_t>()) {
    require(row >= -1 && row < x.shape()[0], "[gather_rows] expected -1 or a row of the ", x.shape()[0], " of x, got ",
            row);
    least = std::min(least, row);
  }
  require(least == 0 || x.tape().sparse_gradients(x) == nullptr,
          "[gather_rows] a parameter with sparse gradients has no row -1");
  auto op = std::make_unique<Embedding>();
  op->gathers = true;
  return record_rows(std::move(op), x, index, x.value().dtype());
}

}  // namespace gyre
