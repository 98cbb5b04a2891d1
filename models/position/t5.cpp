// T5's bias (Raffel et al. 2020, 2.1): e_ij = q_i . k_j / sqrt(d) + b[bucket(j - i)]. b has a number for each head and
// bucket of distance; it is learned and shared by all layers. T5 itself omits 1/sqrt(d) and initializes its queries
// with smaller weights instead; this implementation keeps it, as in all encodings.
#include "gyre/models/position/distances.h"

namespace gyre {
namespace {

class T5 final : public PositionEncoding {
 public:
  static void check(const PositionWidths& /*widths*/, const BucketBiasOptions& options) { options.check("t5"); }
  T5(const PositionContext& c, const BucketBiasOptions& options) : bias_(c, options) {}

  PositionTerms terms(Tape& tape, const PositionTermsRequest& request) const override {
    PositionTerms terms;
    bias_.set(terms, tape, request);
    return terms;
  }

 private:
  BucketBias bias_;
};

}  // namespace

PositionEncodingType t5_encoding() { return position_encoding<T5, BucketBiasOptions>(); }

}  // namespace gyre
