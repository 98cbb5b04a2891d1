// Disentangled attention (He et al. 2021; Su et al. 2021, eq. 10), delta(i, j) = i - j + k clipped to 0 .. 2k - 1:
//   e_ij = (q_i . k_j + q_i . (W_kr P)_delta(i,j) + k_j . (W_qr P)_delta(j,i)) / sqrt(3 d)
// P (2k, dim) is learned and shared by all layers; W_kr and W_qr (dim, dim) belong to a layer.
#include <cmath>

#include "gyre/models/position/distances.h"

namespace gyre {
namespace {

struct DebertaOptions {
  int64_t clip = 512;  // k

  void declare(OptionList& list) {
    list.add(OnResume::another_model, "--deberta-clip", &clip, "TOKENS", "longer distances share the row of this one");
  }
};

class Deberta final : public PositionEncoding {
 public:
  static void check(const PositionWidths& /*widths*/, const DebertaOptions& options) {
    require(options.clip >= 1, "[deberta] the clip must be at least 1, got ", options.clip);
  }
  Deberta(const PositionContext& c, const DebertaOptions& options)
      : clip_(options.clip), scale_(1 / std::sqrt(3.0 * double(c.dim) / c.heads)) {
    table_ = &c.parameters.add(c.name + ".weight", {2 * clip_, c.dim}, c.table_init());
    for (int64_t layer = 0; layer < c.layers; ++layer) {
      const std::string name = c.layer_name(layer);
      keys_.push_back(&c.parameters.add(name + ".k_proj.weight", {c.dim, c.dim}, c.projection_init()));
      queries_.push_back(&c.parameters.add(name + ".q_proj.weight", {c.dim, c.dim}, c.projection_init()));
    }
  }

  PositionTerms terms(Tape& tape, const PositionTermsRequest& request) const override {
    const auto layer = size_t(request.layer);
    const Var p = tape.parameter(*table_);
    PositionTerms terms;
    terms.query_table = gather_rows(linear(p, tape.parameter(*keys_[layer])), rows(to_queries_, request, -1));
    terms.key_table = gather_rows(linear(p, tape.parameter(*queries_[layer])), rows(to_keys_, request, 1));
    terms.zero_offset = to_queries_.zero_offset();
    terms.scale = scale_;
    return terms;
  }

 private:
  // The row of distance t is sign * t + clip: delta(i, j) with sign -1, delta(j, i) with sign 1.
  const Tensor& rows(const KeptByDistance<Tensor>& kept, const PositionTermsRequest& request, int64_t sign) const {
    return kept.get(request, [&](const PositionTermsRequest& wider) {
      return distance_ids(wider, [&](int64_t t) { return std::clamp<int64_t>(sign * t + clip_, 0, 2 * clip_ - 1); });
    });
  }

  int64_t clip_;
  double scale_;
  Parameter* table_;
  std::vector<Parameter*> keys_, queries_;       // projections by layer
  KeptByDistance<Tensor> to_queries_, to_keys_;  // rows of the table
};

}  // namespace

PositionEncodingType deberta_encoding() { return position_encoding<Deberta, DebertaOptions>(); }

}  // namespace gyre
