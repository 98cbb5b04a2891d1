// Relative position representations (Shaw et al. 2018, eq. 3-5), c(t) = t clipped to -clip .. clip:
//   e_ij = q_i . (k_j + a^K_c(j-i)) / sqrt(d),   z_i = sum_j alpha_ij (v_j + a^V_c(j-i))
// a^K, a^V (2 clip + 1, d) are learned in each layer and shared by its heads.
#include "gyre/models/position/distances.h"

namespace gyre {
namespace {

struct ShawOptions {
  int64_t clip = 16;   // all longer distances share the vectors of this one
  bool values = true;  // a^V exists

  void declare(OptionList& list) {
    list.add(OnResume::another_model, "--shaw-clip", &clip, "TOKENS", "longer distances share the vectors of this one");
    list.add(OnResume::another_model, "--shaw-values,!--no-shaw-values", &values,
             "learn relative vectors for the values too");
  }
};

class Shaw final : public PositionEncoding {
 public:
  static void check(const PositionWidths& /*widths*/, const ShawOptions& options) {
    require(options.clip >= 1, "[shaw] the clip must be at least 1, got ", options.clip);
  }
  Shaw(const PositionContext& c, const ShawOptions& options) : clip_(options.clip) {
    const Shape shape{2 * clip_ + 1, c.head_width()};
    for (int64_t layer = 0; layer < c.layers; ++layer) {
      keys_.push_back(&c.parameters.add(c.layer_name(layer) + ".keys.weight", shape, c.table_init()));
      if (options.values)
        values_.push_back(&c.parameters.add(c.layer_name(layer) + ".values.weight", shape, c.table_init()));
    }
  }

  PositionTerms terms(Tape& tape, const PositionTermsRequest& request) const override {
    const auto layer = size_t(request.layer);
    const Tensor& rows = rows_.get(request, [&](const PositionTermsRequest& wider) {
      return distance_ids(wider, [&](int64_t t) { return clip_ + std::clamp(t, -clip_, clip_); });
    });
    PositionTerms terms;
    terms.zero_offset = rows_.zero_offset();
    terms.query_table = gather_rows(tape.parameter(*keys_[layer]), rows);
    if (!values_.empty()) terms.value_table = gather_rows(tape.parameter(*values_[layer]), rows);
    return terms;
  }

 private:
  int64_t clip_;
  std::vector<Parameter*> keys_, values_;  // parameters by layer
  KeptByDistance<Tensor> rows_;            // rows of the tables
};

}  // namespace

PositionEncodingType shaw_encoding() { return position_encoding<Shaw, ShawOptions>(); }

}  // namespace gyre
