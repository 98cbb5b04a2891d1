// The table of position encodings.
#include "gyre/models/position/position.h"

namespace gyre {

// Each encoding has one line with its name for --position. Its file defines the function NAME_encoding(). config.json
// and the help list the encodings' options in the order of the lines.
// clang-format off
#define GYRE_POSITION_ENCODINGS(encoding) \
  encoding(none)                          \
  encoding(sinusoidal)                    \
  encoding(learned)                       \
  encoding(rope)                          \
  encoding(shaw)                          \
  encoding(nezha)                         \
  encoding(xl)                            \
  encoding(t5)                            \
  encoding(tupe)                          \
  encoding(deberta)                       \
  encoding(alibi)                         \
  encoding(wavelet)                       \
  /* end of the table */
// clang-format on

#define GYRE_DECLARE(name) PositionEncodingType name##_encoding();
GYRE_POSITION_ENCODINGS(GYRE_DECLARE)

namespace {

struct Row {
  const char* name;
  PositionEncodingType type;
};

const std::vector<Row>& table() {
#define GYRE_ROW(name) {#name, name##_encoding()},
  static const std::vector<Row> rows{GYRE_POSITION_ENCODINGS(GYRE_ROW)};
  return rows;
}

}  // namespace

std::vector<std::string> position_encoding_names() {
  std::vector<std::string> names;
  for (const Row& row : table()) names.emplace_back(row.name);
  return names;
}

const PositionEncodingType& position_encoding_type(const std::string& name) {
  std::string names;
  for (const Row& row : table()) {
    if (row.name == name) return row.type;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error("[position] expected one of ", names, ", got \"", name, "\"");
}

std::unique_ptr<PositionEncoding> make_position_encoding(const PositionContext& context) {
  return position_encoding_type(context.config.encoding).make(context);
}

}  // namespace gyre
