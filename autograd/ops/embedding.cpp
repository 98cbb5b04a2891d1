#include "autograd/ops.h"
#include "autograd/ops/formula.h"

namespace gyre {
namespace {

// Rows of the same id are added in their order; or dy is left in `apart`.
struct Embedding final : Op {
  std::string_view formula() const override {
    return R"(
      y = factor * table[ids]
        dtable[ids] += factor * dy
    )"_formula;
  }
  Tensor ids;
  double factor = 1;
  std::vector<RowGradient>* apart = nullptr;
  size_t place = 0;
  std::string_view name() const override { return "embedding"; }
  bool leaves_row_gradients() const override { return apart != nullptr; }
  void describe(OpFacts& facts) const override {
    if (factor != 1) facts.attribute("factor", factor);
    if (apart) facts.attribute("gradient", "rows apart");
    facts.save("ids", ids);
  }
  void backward(Backward& b) override {
    if (apart) {
      (*apart)[place].gradient = b.doutput();
    } else {
      b.kernels().embedding_backward(b.dparameter(0), b.doutput(), ids, factor);
    }
  }
};

Var record_rows(const Var& table, const Tensor& ids, double factor, DType dtype) {
  require(table.shape().rank() == 2, "[embedding] the table must be (v,d), got ", table.shape().text());
  for (int32_t id : ids.span<int32_t>()) {
    require(id >= 0 && id < table.shape()[0], "[embedding] ids must be below the table's ", table.shape()[0],
            " rows, got ", id);
  }
  auto op = std::make_unique<Embedding>();
  op->ids = ids;
  op->factor = factor;
  op->apart = table.tape().row_gradients(table);
  if (op->apart) {
    op->place = op->apart->size();
    op->apart->push_back({ids, {}, factor});
  }
  const Tensor y = Tensor::empty({ids.size(), table.shape()[1]}, dtype, table.value().device());
  table.kernels().embedding(y, table.value(), ids, factor);
  return table.tape().record(std::move(op), y, {table});
}

}  // namespace

Var embedding(const Var& table, const Tensor& ids, double factor) {
  return record_rows(table, ids, factor, table.tape().data_dtype(table.value()));
}

Var table_rows(const Var& table, const Tensor& ids) { return record_rows(table, ids, 1, table.value().dtype()); }

}  // namespace gyre
