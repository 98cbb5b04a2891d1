#include "gyre/data/tokenizer/piece_notation.h"

#include <algorithm>
#include <charconv>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

void append_byte_name(std::string& text, char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto value = uint8_t(byte);
  text += {'<', '0', 'x', kDigits[value >> 4], kDigits[value & 15], '>'};
}

// U+0000 to U+0020 and U+007F to U+009F, or a byte that is not UTF-8.
bool is_hidden(std::string_view character) {
  const auto first = uint8_t(character[0]);
  if (character.size() == 1) return first <= 0x20 || first >= 0x7F;
  return first == 0xC2 && uint8_t(character[1]) < 0xA0;
}

std::string notation_of(std::string_view piece) {
  std::string text;
  for (const std::string_view character : split_characters(piece)) {
    if (!is_hidden(character)) {
      text += character;
      continue;
    }
    for (const char byte : character) append_byte_name(text, byte);
  }
  return text;
}

// Calls visit(word) for every part of the line between spaces, without empty ones.
template <class Visit>
void for_each_piece(std::string_view line, const Visit& visit) {
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    if (end > 0) visit(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
}

}  // namespace

PieceNotation::PieceNotation(const Vocabulary& vocabulary) : notations_(size_t(vocabulary.size())) {
  for (int id = 0; id < vocabulary.size(); ++id) {
    std::string& notation = notations_[size_t(id)];
    notation = notation_of(vocabulary.piece(id));
    if (notation.empty() || ids_.contains(notation)) notation = concat("<id:", id, ">");
    while (ids_.contains(notation)) notation = "<" + notation + ">";
    ids_.emplace(notation, id);
  }
}

std::string PieceNotation::write(std::span<const int32_t> ids) const {
  std::string line;
  for (const int32_t id : ids) {
    if (!line.empty()) line += ' ';
    line += notations_[size_t(id)];
  }
  return line;
}

std::vector<int32_t> PieceNotation::read(std::string_view line) const {
  std::vector<int32_t> ids;
  for_each_piece(line, [&](std::string_view word) {
    const auto place = ids_.find(word);
    if (place == ids_.end()) throw Error("unknown piece ", quoted_for_message(std::string(word)));
    ids.push_back(place->second);
  });
  return ids;
}

std::string write_ids(std::span<const int32_t> ids) {
  std::string line;
  for (const int32_t id : ids) {
    if (!line.empty()) line += ' ';
    line += std::to_string(id);
  }
  return line;
}

std::vector<int32_t> read_ids(std::string_view line, int size) {
  std::vector<int32_t> ids;
  for_each_piece(line, [&](std::string_view word) {
    int32_t id = -1;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    const bool is_id = error == std::errc() && stop == word.data() + word.size() && id >= 0 && id < size;
    if (!is_id) throw Error("expected ids from 0 to ", size - 1, ", got ", quoted_for_message(std::string(word)));
    ids.push_back(id);
  });
  return ids;
}

}  // namespace gyre
