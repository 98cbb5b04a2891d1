// T5's bias (Raffel et al. 2020, 2.1): e_ij = q_i . k_j / sqrt(d) + b[bucket(j - i)], a number for each head and bucket
// of distance, learned and shared by all layers. T5 itself leaves out 1/sqrt(d) and starts its queries smaller instead;
// here it stays, as in all encodings.
#include "models/position/bucket_bias.h"

namespace gyre {
namespace {

class T5 final : public PositionEncoding {
 public:
  explicit T5(const PositionContext& c) : bias_("t5", c) {}

  DistanceTerms terms(Tape& tape, const TermsRequest& request) const override {
    DistanceTerms terms;
    bias_.set(terms, tape, request);
    return terms;
  }

 private:
  BucketBias bias_;
};

}  // namespace

std::unique_ptr<PositionEncoding> make_t5(const PositionContext& context) { return std::make_unique<T5>(context); }

}  // namespace gyre
