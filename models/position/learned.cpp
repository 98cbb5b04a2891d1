// Learned absolute positions: x_m += E[m], E(max_positions, dim). Beyond the table a sentence is refused.
#include <cmath>

#include "models/position/position.h"

namespace gyre {
namespace {

class Learned final : public PositionEncoding {
 public:
  explicit Learned(const PositionContext& c) {
    require(c.config.max_positions >= 1, "[learned] max_positions must be at least 1, got ", c.config.max_positions);
    const double deviation = c.initial_deviation > 0 ? c.initial_deviation : 1 / std::sqrt(double(c.dim));
    table_ = &c.parameters.add(c.name + ".weight", {c.config.max_positions, c.dim}, Init::normal(deviation));
  }

  Var add_to_embeddings(const Var& x, const Tensor& positions) const override {
    check_positions("learned", positions, longest());
    return add(x, embedding(x.tape().parameter(*table_), positions));
  }

  int64_t longest() const override { return table_->shape[0]; }

 private:
  Parameter* table_;
};

}  // namespace

std::unique_ptr<PositionEncoding> make_learned(const PositionContext& context) {
  return std::make_unique<Learned>(context);
}

}  // namespace gyre
