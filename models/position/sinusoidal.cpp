// Sinusoidal positions (Vaswani et al. 2017, 3.5), added to the embeddings; positions start at 0. D = dim.
//   half-split (tensor2tensor, fairseq, Marian): PE(p, i) = sin(p w_i), PE(p, i + D/2) = cos(p w_i),
//                                                w_i = 10000^(-i / (D/2 - 1)), i = 0 .. D/2 - 1
//   interleaved (the paper's text):              PE(p, 2i) = sin(p w_i), PE(p, 2i + 1) = cos(p w_i),
//                                                w_i = 10000^(-2i / D)
//   transformers (its MarianMTModel):            as half-split, with the frequencies of interleaved
#include "gyre/models/position/sinusoidal.h"

#include <cmath>

#include "gyre/models/position/distances.h"
#include "gyre/models/position/position_table.h"

namespace gyre {
namespace {

class Sinusoidal final : public PositionEncoding {
 public:
  static void check(const PositionWidths& widths, const PositionTableOptions& rows, const SinusoidalOptions& options) {
    const int64_t dim = widths.dim;
    rows.check("sinusoidal");
    require(dim % 2 == 0, "[sinusoidal] dim must be even, got ", dim);
    require(options.layout != SinusoidLayout::half_split || dim >= 4,
            "[sinusoidal] the half-split layout needs dim of at least 4, got ", dim);
  }
  Sinusoidal(const PositionContext& c, const PositionTableOptions& rows, const SinusoidalOptions& options)
      : table_(sinusoid_table(options.layout, rows.max_positions, c.dim)) {}

  Var add_to_embeddings(const Var& x, const Tensor& positions) const override {
    check_positions("sinusoidal", positions, longest());
    const Tensor& table = table_.as(statistics_dtype(x.value().dtype()), x.kernels().device());
    return add(x, embedding(x.tape().constant(table), positions));
  }

  bool is_relative() const override { return false; }
  int64_t longest() const override { return table_.exact().dim(0); }

 private:
  ConstantTable table_;
};

}  // namespace

Tensor sinusoid_table(SinusoidLayout layout, int64_t positions, int64_t dim) {
  const bool in_halves = layout != SinusoidLayout::interleaved;
  const int64_t half = dim / 2;
  const auto steps = double(layout == SinusoidLayout::half_split ? half - 1 : half);
  Tensor table = Tensor::empty({positions, dim}, DType::f64);
  for (int64_t i = 0; i < half; ++i) {
    const double frequency = std::pow(10000.0, -double(i) / steps);
    const int64_t sine = in_halves ? i : 2 * i, cosine = in_halves ? i + half : 2 * i + 1;
    for (int64_t p = 0; p < positions; ++p) {
      table.data<double>()[p * dim + sine] = std::sin(double(p) * frequency);
      table.data<double>()[p * dim + cosine] = std::cos(double(p) * frequency);
    }
  }
  return table;
}

PositionEncodingType sinusoidal_encoding() {
  return position_encoding<Sinusoidal, PositionTableOptions, SinusoidalOptions>();
}

}  // namespace gyre
