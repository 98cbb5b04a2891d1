// Transformer-XL (Dai et al. 2019, 3.3), distance m - n = -t of query m and key n:
//   e_mn = ((q_m + u) . k_n + (q_m + v) . W_kR R_{m-n}) / sqrt(d),   R_x = [sin(x w_i) | cos(x w_i)],
//   w_i = 10000^(-2i / D), D = dim
// The query projections of all models have a bias, which serves as u: queries are (q + u) already, and only v - u
// remains to be learned. So W_kR R is the table that is multiplied with the queries, and its products with v - u are a
// bias by distance. W_kR (D, D) and v - u (D) belong to a layer. R has negative distances too, for keys after their
// query.
#include <cmath>

#include "gyre/models/position/distances.h"

namespace gyre {
namespace {

class TransformerXl final : public PositionEncoding {
 public:
  static void check(const PositionWidths& widths) {
    require(widths.dim % 2 == 0, "[xl] dim must be even, got ", widths.dim);
  }
  explicit TransformerXl(const PositionContext& c) : dim_(c.dim), heads_(int(c.heads)) {
    for (int64_t layer = 0; layer < c.layers; ++layer) {
      const std::string name = c.layer_name(layer);
      projections_.push_back(&c.parameters.add(name + ".r_proj.weight", {dim_, dim_}, c.projection_init()));
      differences_.push_back(&c.parameters.add(name + ".v_minus_u", {dim_}, Init::constant(0), /*decay=*/false));
    }
  }

  PositionTerms terms(Tape& tape, const PositionTermsRequest& request) const override {
    const auto layer = size_t(request.layer);
    const ConstantTable& kept =
        sinusoids_.get(request, [&](const PositionTermsRequest& wider) { return sinusoids(wider); });
    const int64_t longest = std::max<int64_t>(request.longest, 1), first = sinusoids_.zero_offset() - (longest - 1);
    const Tensor rows = kept.as(request.dtype, tape.kernels().device())
                            .slice(first, first + (request.causal ? longest : 2 * longest - 1));
    PositionTerms terms;
    terms.zero_offset = longest - 1;
    terms.query_table = linear(tape.constant(rows), tape.parameter(*projections_[layer]));
    terms.bias =
        head_dot(terms.query_table, tape.parameter(*differences_[layer]), heads_, 1 / std::sqrt(double(dim_) / heads_));
    return terms;
  }

 private:
  Tensor sinusoids(const PositionTermsRequest& request) const {
    return distance_table(request, dim_, [half = dim_ / 2](int64_t t, double* row) {
      for (int64_t i = 0; i < half; ++i) {
        const double angle = double(-t) * std::pow(10000.0, -double(i) / double(half));
        row[i] = std::sin(angle);
        row[half + i] = std::cos(angle);
      }
    });
  }

  int64_t dim_;
  int heads_;
  std::vector<Parameter*> projections_, differences_;  // parameters by layer
  KeptByDistance<ConstantTable> sinusoids_;
};

}  // namespace

PositionEncodingType xl_encoding() { return position_encoding<TransformerXl>(); }

}  // namespace gyre
