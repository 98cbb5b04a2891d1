// NEZHA's functional relative positions (Wei et al. 2019, 3.2), c(t) = t clipped to -clip .. clip:
//   e_ij = q_i . (k_j + a_c(j-i)) / sqrt(d),   z_i = sum_j alpha_ij (v_j + a_c(j-i))
//   a_t[2f] = sin((t + clip) w_f), a_t[2f + 1] = cos((t + clip) w_f), w_f = 10000^(-2f / d)
// Nothing is learned; all heads and layers share the table of 2 clip + 1 rows, for keys and values alike.
#include "gyre/models/position/nezha.h"

#include <cmath>

#include "gyre/models/position/distances.h"

namespace gyre {
namespace {

class Nezha final : public PositionEncoding {
 public:
  static void check(const PositionWidths& widths, const NezhaOptions& options) {
    require(options.clip >= 1, "[nezha] the clip must be at least 1, got ", options.clip);
    require(widths.head % 2 == 0, "[nezha] the width of a head must be even, got ", widths.head);
  }
  Nezha(const PositionContext& c, const NezhaOptions& options) : clip_(options.clip), width_(c.head_width()) {}

  PositionTerms terms(Tape& tape, const PositionTermsRequest& request) const override {
    const ConstantTable& kept = table_.get(request, [&](const PositionTermsRequest& wider) {
      return distance_table(wider, width_, [&](int64_t t, double* row) { fill(t, row); });
    });
    PositionTerms terms;
    terms.query_table = terms.value_table = tape.constant(kept.as(request.dtype, tape.kernels().device()));
    terms.zero_offset = table_.zero_offset();
    return terms;
  }

 private:
  void fill(int64_t t, double* row) const {
    const auto place = double(clip_ + std::clamp(t, -clip_, clip_));
    for (int64_t f = 0; f < width_; f += 2) {
      const double angle = place * std::pow(10000.0, -double(f) / double(width_));
      row[f] = std::sin(angle);
      row[f + 1] = std::cos(angle);
    }
  }

  int64_t clip_, width_;
  KeptByDistance<ConstantTable> table_;
};

}  // namespace

PositionEncodingType nezha_encoding() { return position_encoding<Nezha, NezhaOptions>(); }

}  // namespace gyre
