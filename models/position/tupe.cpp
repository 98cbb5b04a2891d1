// Untied positions (Ke et al. 2021; Su et al. 2021, eq. 9):
//   e_ij = (q_i . k_j + (p_i U_q) . (p_j U_k)) / sqrt(2 d) [+ b[bucket(j - i)], as in T5]
// p (max_positions, dim), U_q and U_k (dim, dim) are learned and shared by all layers. Beyond the table a sentence is
// refused.
#include <cmath>
#include <numeric>
#include <optional>

#include "models/position/bucket_bias.h"

namespace gyre {
namespace {

class Tupe final : public PositionEncoding {
 public:
  explicit Tupe(const PositionContext& c) : scale_(1 / std::sqrt(2.0 * double(c.dim) / c.heads)) {
    const int64_t places = c.config.max_positions;
    require(places >= 1, "[tupe] max_positions must be at least 1, got ", places);
    table_ = &c.parameters.add(c.name + ".weight", {places, c.dim}, c.table_init());
    queries_ = &c.parameters.add(c.name + ".q_proj.weight", {c.dim, c.dim}, c.projection_init());
    keys_ = &c.parameters.add(c.name + ".k_proj.weight", {c.dim, c.dim}, c.projection_init());
    if (c.config.tupe_bias) bias_.emplace("tupe", c);
    places_ = Tensor::empty({places}, DType::i32);
    std::iota(places_.data<int32_t>(), places_.data<int32_t>() + places, 0);
  }

  DistanceTerms terms(Tape& tape, const TermsRequest& request) const override {
    check_length("tupe", request.longest, longest());
    const Var p = table_rows(tape.parameter(*table_), places_.slice(0, request.longest));
    DistanceTerms terms;
    terms.query_places = linear(p, tape.parameter(*queries_));
    terms.key_places = linear(p, tape.parameter(*keys_));
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
  Tensor places_;  // 0, 1, ..
};

}  // namespace

std::unique_ptr<PositionEncoding> make_tupe(const PositionContext& context) { return std::make_unique<Tupe>(context); }

}  // namespace gyre
