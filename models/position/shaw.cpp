// Relative position representations (Shaw et al. 2018, eq. 3-5), c(t) = t clipped to -clip .. clip:
//   e_ij = q_i . (k_j + a^K_c(j-i)) / sqrt(d),   z_i = sum_j alpha_ij (v_j + a^V_c(j-i))
// a^K, a^V (2 clip + 1, d) are learned in each layer and shared by its heads.
#include "models/position/distances.h"

namespace gyre {
namespace {

class Shaw final : public PositionEncoding {
 public:
  explicit Shaw(const PositionContext& c) : clip_(c.config.shaw_clip) {
    require(clip_ >= 1, "[shaw] the clip must be at least 1, got ", clip_);
    const Shape shape{2 * clip_ + 1, c.dim / c.heads};
    for (int64_t layer = 0; layer < c.layers; ++layer) {
      keys_.push_back(&c.parameters.add(c.layer_name(layer) + ".keys.weight", shape, c.table_init()));
      if (c.config.shaw_values)
        values_.push_back(&c.parameters.add(c.layer_name(layer) + ".values.weight", shape, c.table_init()));
    }
  }

  DistanceTerms terms(Tape& tape, const TermsRequest& request) const override {
    const auto layer = size_t(request.layer);
    const Tensor& rows = rows_.get(request, [&](const TermsRequest& wider) {
      return distance_ids(wider, [&](int64_t t) { return clip_ + std::clamp(t, -clip_, clip_); });
    });
    DistanceTerms terms;
    terms.zero = rows_.zero();
    terms.query_table = table_rows(tape.parameter(*keys_[layer]), rows);
    if (!values_.empty()) terms.value_table = table_rows(tape.parameter(*values_[layer]), rows);
    return terms;
  }

 private:
  int64_t clip_;
  std::vector<Parameter*> keys_, values_;  // by layer
  KeptByDistance<Tensor> rows_;            // of the tables
};

}  // namespace

std::unique_ptr<PositionEncoding> make_shaw(const PositionContext& context) { return std::make_unique<Shaw>(context); }

}  // namespace gyre
