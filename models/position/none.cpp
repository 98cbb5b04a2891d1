// No position encoding (Kazemnejad et al. 2023): only a causal mask depends on the order of tokens.
#include "gyre/models/position/position.h"

namespace gyre {
namespace {

class None final : public PositionEncoding {
 public:
  explicit None(const PositionContext&) {}
};

}  // namespace

PositionEncodingType none_encoding() { return position_encoding<None>(); }

}  // namespace gyre
