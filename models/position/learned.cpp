// Learned absolute positions: x_m += E[m], E(max_positions, dim). Beyond the table a sentence is refused.
#include "models/position/position.h"

namespace gyre {
namespace {

class Learned final : public PositionEncoding {
 public:
  explicit Learned(const PositionContext& c) {
    require(c.config.max_positions >= 1, "[learned] max_positions must be at least 1, got ", c.config.max_positions);
    table_ = &c.parameters.add(c.name + ".weight", {c.config.max_positions, c.dim}, c.table_init());
  }

  Var add_to_embeddings(const Var& x, const Tensor& positions) const override {
    check_positions("learned", positions, longest());
    return add(x, embedding(x.tape().parameter(*table_), positions));
  }

  bool is_relative() const override { return false; }
  int64_t longest() const override { return table_->shape[0]; }

 private:
  Parameter* table_;
};

}  // namespace

std::unique_ptr<PositionEncoding> make_learned(const PositionContext& context) {
  return std::make_unique<Learned>(context);
}

}  // namespace gyre
