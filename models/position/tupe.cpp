// Untied positions (Ke et al. 2021; Su et al. 2021, eq. 9):
//   e_ij = (q_i . k_j + (p_i U_q) . (p_j U_k)) / sqrt(2 d) [+ b[bucket(j - i)], as in T5]
// p (max_positions, dim), U_q and U_k (dim, dim) are learned and shared by all layers. A sentence longer than the table
// is an error.
#include <cmath>
#include <numeric>
#include <optional>

#include "gyre/models/position/distances.h"
#include "gyre/models/position/position_table.h"

namespace gyre {
namespace {

struct TupeOptions {
  bool bias = true;  // b exists

  // The list has the options of the buckets already.
  void declare(OptionList& list) {
    list.add(OnResume::another_model, "--tupe-bias,!--no-tupe-bias", &bias,
             "add a bias by bucket of distance, as in t5");
    for (const char* name : {"bias-buckets", "bias-max-distance"})
      list.at(name).unused = [this] { return bias ? "" : "--tupe-bias is false"; };
  }
};

class Tupe final : public PositionEncoding {
 public:
  static void check(const PositionWidths& /*widths*/, const PositionTableOptions& rows,
                    const BucketBiasOptions& buckets, const TupeOptions& options) {
    rows.check("tupe");
    if (options.bias) buckets.check("tupe");
  }
  Tupe(const PositionContext& c, const PositionTableOptions& rows, const BucketBiasOptions& buckets,
       const TupeOptions& options)
      : scale_(1 / std::sqrt(2.0 * double(c.dim) / c.heads)) {
    table_ = &c.parameters.add(c.name + ".weight", {rows.max_positions, c.dim}, c.table_init());
    queries_ = &c.parameters.add(c.name + ".q_proj.weight", {c.dim, c.dim}, c.projection_init());
    keys_ = &c.parameters.add(c.name + ".k_proj.weight", {c.dim, c.dim}, c.projection_init());
    if (options.bias) bias_.emplace(c, buckets);
    positions_ = Tensor::empty({rows.max_positions}, DType::i32);
    std::iota(positions_.data<int32_t>(), positions_.data<int32_t>() + rows.max_positions, 0);
  }

  PositionTerms terms(Tape& tape, const PositionTermsRequest& request) const override {
    check_length("tupe", request.longest, longest());
    const Var p = gather_rows(tape.parameter(*table_), positions_.slice(0, request.longest));
    PositionTerms terms;
    terms.pos_queries = linear(p, tape.parameter(*queries_));
    terms.pos_keys = linear(p, tape.parameter(*keys_));
    if (bias_) bias_->set(terms, tape, request);
    terms.scale = scale_;
    return terms;
  }

  bool is_relative() const override { return false; }
  int64_t longest() const override { return table_->shape[0]; }

 private:
  double scale_;
  Parameter *table_, *queries_, *keys_;
  std::optional<BucketBias> bias_;
  Tensor positions_;  // 0, 1, ..
};

}  // namespace

PositionEncodingType tupe_encoding() {
  return position_encoding<Tupe, PositionTableOptions, BucketBiasOptions, TupeOptions>();
}

}  // namespace gyre
