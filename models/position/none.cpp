// No position at all (Kazemnejad et al. 2023): only the causal mask of the decoder tells an order.
#include "models/position/position.h"

namespace gyre {

std::unique_ptr<PositionEncoding> make_none(const PositionContext&) { return std::make_unique<PositionEncoding>(); }

}  // namespace gyre
