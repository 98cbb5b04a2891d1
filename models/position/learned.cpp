// Learned absolute positions: x_m += E[m], E(max_positions, dim). A sentence longer than the table is an error.
#include "gyre/models/position/position.h"
#include "gyre/models/position/position_table.h"

namespace gyre {
namespace {

class Learned final : public PositionEncoding {
 public:
  static void check(const PositionWidths& /*widths*/, const PositionTableOptions& options) { options.check("learned"); }
  Learned(const PositionContext& c, const PositionTableOptions& options) {
    table_ = &c.parameters.add(c.name + ".weight", {options.max_positions, c.dim}, c.table_init());
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

PositionEncodingType learned_encoding() { return position_encoding<Learned, PositionTableOptions>(); }

}  // namespace gyre
