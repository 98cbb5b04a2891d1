#include "gyre/autograd/ops.h"
#include "gyre/autograd/ops/formula.h"

namespace gyre {
namespace {

// Backward adds rows with the same id in order of position, so results are deterministic. With a list of sparse
// gradients (`sparse_gradients`) it stores dy in the list instead.
struct Embedding final : Op {
  std::string_view formula() const override {
    return R"(
      y = factor * table[ids]
        dtable[ids] += factor * dy
    )"_formula;
  }
  Tensor ids;
  double factor = 1;
  std::vector<SparseGradient>* sparse_gradients = nullptr;
  size_t place = 0;
  std::string_view name() const override { return "embedding"; }
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

Var record_rows(const Var& table, const Tensor& ids, double factor, DType dtype) {
  require(table.shape().rank() == 2, "[embedding] the table must be (v,d), got ", table.shape());
  for (int32_t id : ids.span<int32_t>()) {
    require(id >= 0 && id < table.shape()[0], "[embedding] ids must be below the table's ", table.shape()[0],
            " rows, got ", id);
  }
  auto op = std::make_unique<Embedding>();
  op->ids = ids;
  op->factor = factor;
  op->sparse_gradients = table.tape().sparse_gradients(table);
  if (op->sparse_gradients) {
    op->place = op->sparse_gradients->size();
    op->sparse_gradients->push_back({ids, {}, factor});
  }
  const Tensor y = Tensor::empty({ids.size(), table.shape()[1]}, dtype, table.value().device());
  table.kernels().embedding(y, table.value(), ids, factor);
  return table.tape().record(std::move(op), y, {table});
}

}  // namespace

Var embedding(const Var& table, const Tensor& ids, double factor) {
  return record_rows(table, ids, factor, table.tape().data_dtype(table.value()));
}

Var embedding_lookup(const Var& table, const Tensor& ids) { return record_rows(table, ids, 1, table.value().dtype()); }

}  // namespace gyre
