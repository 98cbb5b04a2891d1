#include "models/position/position.h"

namespace gyre {

// A line for each encoding: its name for --position, and of the function make_<name> in its file.
#define GYRE_POSITION_ENCODINGS(encoding)                                                                       \
  encoding(rope) encoding(sinusoidal) encoding(learned) encoding(none) encoding(shaw) encoding(xl) encoding(t5) \
      encoding(tupe) encoding(deberta) encoding(alibi) encoding(wavelet)

using PositionMaker = std::unique_ptr<PositionEncoding>(const PositionContext&);
#define GYRE_DECLARE(name) PositionMaker make_##name;
GYRE_POSITION_ENCODINGS(GYRE_DECLARE)

#define GYRE_ROW(name) {#name, make_##name},
static const struct {
  const char* name;
  PositionMaker* make;
} kEncodings[] = {GYRE_POSITION_ENCODINGS(GYRE_ROW)};

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
