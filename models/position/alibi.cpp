// Attention with linear biases (Press et al. 2022): e_ij = q_i . k_j / sqrt(d) - s_h |j - i|. Nothing is learned.
// The slopes of H heads are s_h = 2^(-8h / H), h = 1 .. H, if H is a power of two. Otherwise they are the slopes of the
// largest power P below H, followed by the first, third, .. slope of 2P (the authors' rule).
#include <cmath>

#include "gyre/models/position/distances.h"

namespace gyre {
namespace {

std::vector<double> slopes_of(int64_t heads) {
  const auto below = int64_t(std::bit_floor(uint64_t(heads)));
  std::vector<double> slopes;
  for (int64_t h = 1; h <= below; ++h) slopes.push_back(std::exp2(-8.0 * double(h) / double(below)));
  for (int64_t h = 1; int64_t(slopes.size()) < heads; h += 2)
    slopes.push_back(std::exp2(-8.0 * double(h) / double(2 * below)));
  return slopes;
}

class Alibi final : public PositionEncoding {
 public:
  explicit Alibi(const PositionContext& c) : slopes_(slopes_of(c.heads)) {}

  PositionTerms terms(Tape& tape, const PositionTermsRequest& request) const override {
    const ConstantTable& kept = biases_.get(request, [&](const PositionTermsRequest& wider) {
      return distance_table(wider, int64_t(slopes_.size()), [&](int64_t t, double* row) {
        for (size_t h = 0; h < slopes_.size(); ++h) row[h] = -slopes_[h] * std::abs(double(t));
      });
    });
    PositionTerms terms;
    terms.bias = tape.constant(kept.as(request.dtype, tape.kernels().device()));
    terms.zero_offset = biases_.zero_offset();
    return terms;
  }

 private:
  std::vector<double> slopes_;
  KeptByDistance<ConstantTable> biases_;
};

}  // namespace

PositionEncodingType alibi_encoding() { return position_encoding<Alibi>(); }

}  // namespace gyre
