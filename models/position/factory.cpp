#include "models/position/position.h"

namespace gyre {

using PositionMaker = std::unique_ptr<PositionEncoding>(const PositionContext&);
PositionMaker make_rope, make_sinusoidal, make_learned, make_none, make_shaw, make_xl, make_t5, make_tupe, make_deberta,
    make_alibi, make_wavelet;

static const struct {
  const char* name;
  PositionMaker* make;
} kEncodings[] = {
    {"rope", make_rope},       {"sinusoidal", make_sinusoidal},
    {"learned", make_learned}, {"none", make_none},
    {"shaw", make_shaw},       {"xl", make_xl},
    {"t5", make_t5},           {"tupe", make_tupe},
    {"deberta", make_deberta}, {"alibi", make_alibi},
    {"wavelet", make_wavelet},
};

std::vector<std::string> position_encoding_names() {
  std::vector<std::string> names;
  for (const auto& encoding : kEncodings) names.emplace_back(encoding.name);
  return names;
}

std::unique_ptr<PositionEncoding> make_position_encoding(const PositionContext& context) {
  std::string names;
  for (const auto& encoding : kEncodings) {
    if (context.config.encoding == encoding.name) return encoding.make(context);
    names += (names.empty() ? "" : ", ") + std::string(encoding.name);
  }
  throw Error("[position] expected one of ", names, ", got \"", context.config.encoding, "\"");
}

}  // namespace gyre
