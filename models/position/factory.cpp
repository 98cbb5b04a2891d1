// The table of position encodings.
#include "gyre/models/position/position.h"

namespace gyre {

// The files of the encodings define these.
PositionEncodingType none_encoding();
PositionEncodingType sinusoidal_encoding();
PositionEncodingType learned_encoding();
PositionEncodingType rope_encoding();
PositionEncodingType shaw_encoding();
PositionEncodingType nezha_encoding();
PositionEncodingType xl_encoding();
PositionEncodingType t5_encoding();
PositionEncodingType tupe_encoding();
PositionEncodingType deberta_encoding();
PositionEncodingType alibi_encoding();
PositionEncodingType wavelet_encoding();

namespace {

struct Row {
  const char* name;  // name for --position
  PositionEncodingType type;
};

// config.json and the help list the options of the encodings in the order of the rows.
const std::vector<Row>& table() {
  static const std::vector<Row> rows{{"none", none_encoding()},       {"sinusoidal", sinusoidal_encoding()},
                                     {"learned", learned_encoding()}, {"rope", rope_encoding()},
                                     {"shaw", shaw_encoding()},       {"nezha", nezha_encoding()},
                                     {"xl", xl_encoding()},           {"t5", t5_encoding()},
                                     {"tupe", tupe_encoding()},       {"deberta", deberta_encoding()},
                                     {"alibi", alibi_encoding()},     {"wavelet", wavelet_encoding()}};
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

void check_position_encoding(const PositionConfig& config, const PositionWidths& widths) {
  position_encoding_type(config.encoding).check(config, widths);
}

std::unique_ptr<PositionEncoding> make_position_encoding(const PositionContext& context) {
  check_position_encoding(context.config, context.widths());
  return position_encoding_type(context.config.encoding).make(context);
}

// ---- The encoding `none` (Kazemnejad et al. 2023): only a causal mask depends on the order of tokens ---------------

namespace {

class None final : public PositionEncoding {
 public:
  explicit None(const PositionContext&) {}
};

}  // namespace

PositionEncodingType none_encoding() { return position_encoding<None>(); }

}  // namespace gyre
