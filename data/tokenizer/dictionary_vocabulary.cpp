#include "gyre/data/tokenizer/dictionary_vocabulary.h"

#include <charconv>
#include <limits>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"

namespace gyre {

namespace {

constexpr size_t kSpecialPieces = 3;
constexpr size_t kLongestSeparator = 100;  // bounds memory, because it follows every piece of a word
constexpr std::string_view kSeparatorRule = "UTF-8 text of 1 to 100 bytes without spaces and line breaks";

bool is_piece_separator(std::string_view text) {
  return !text.empty() && text.size() <= kLongestSeparator && text.find_first_of(" \r\n") == text.npos &&
         !first_invalid_utf8(text);
}

uint64_t threshold_of(const std::string& name, const VocabularyBundle& bundle) {
  const auto place = bundle.options.find("threshold");
  require(place != bundle.options.end() && place->is_number_unsigned(), "[vocabulary] ", name,
          ":1: expected options.threshold, a number");
  return place->get<uint64_t>();
}

std::string separator_of(const std::string& name, const VocabularyBundle& bundle) {
  const auto place = bundle.options.find("separator");
  std::string separator = place != bundle.options.end() && place->is_string() ? place->get<std::string>() : "";
  require(is_piece_separator(separator), "[vocabulary] ", name, ":1: expected options.separator, ", kSeparatorRule);
  return separator;
}

std::string join(const Dictionary& dictionary, std::span<const int32_t> ids) {
  std::string text;
  for (const int32_t id : ids) {
    if (!text.empty()) text += ' ';
    text += dictionary.piece(id);
  }
  return text;
}

}  // namespace

Dictionary::Dictionary(const std::string& name, std::string_view text, uint64_t threshold)
    : pieces_{"<unk>", "<s>", "</s>"} {
  text.remove_prefix(byte_order_mark_bytes(text));
  std::string_view line;
  for (size_t line_number = 1; take_line(text, line); ++line_number) add(name, line_number, line, threshold);
  require(!ids_.empty(), "[vocabulary] ", name, ": no piece reaches the threshold ", threshold);
}

void Dictionary::add(const std::string& name, size_t line_number, std::string_view line, uint64_t threshold) {
  const size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  const auto require_entry = [&](bool ok) {
    if (ok) return;
    throw Error("[vocabulary] ", name, ":", line_number, ": expected \"token count\", got \"", cut_for_message(line),
                "\"");
  };
  require_entry(!word.empty());
  uint64_t count = std::numeric_limits<uint64_t>::max();
  if (space != std::string_view::npos) {
    const char *begin = line.data() + space + 1, *end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(begin, end, count);
    require_entry(error == std::errc() && stop == end);
  }
  if (count < threshold) return;
  if (!ids_.try_emplace(std::string(word), int(pieces_.size())).second)
    throw Error("[vocabulary] ", name, ":", line_number, ": the token \"", cut_for_message(word), "\" occurs twice");
  pieces_.emplace_back(word);
}

int Dictionary::find(std::string_view piece) const {
  const auto place = ids_.find(piece);
  return place == ids_.end() ? SpecialIds{}.unk : place->second;
}

std::span<const std::string> Dictionary::words() const { return std::span(pieces_).subspan(kSpecialPieces); }

WordVocabulary::WordVocabulary(const std::string& name, const VocabularyBundle& bundle)
    : Vocabulary(bundle.serialize()), dictionary_(name, bundle.part(name, "dictionary"), threshold_of(name, bundle)) {}

std::vector<int32_t> WordVocabulary::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  for (size_t begin = line.find_first_not_of(' '); begin < line.size(); begin = line.find_first_not_of(' ', begin)) {
    const size_t end = std::min(line.size(), line.find(' ', begin));
    ids.push_back(dictionary_.find(line.substr(begin, end - begin)));
    begin = end;
  }
  return ids;
}

std::string WordVocabulary::decode(std::span<const int32_t> ids) const { return join(dictionary_, shown(ids)); }

std::string WordVocabulary::piece(int id) const {
  require_id(id);
  return dictionary_.piece(id);
}

SubwordNmtVocabulary::SubwordNmtVocabulary(const std::string& name, const VocabularyBundle& bundle)
    : Vocabulary(bundle.serialize()),
      dictionary_(name, bundle.part(name, "dictionary"), threshold_of(name, bundle)),
      segmenter_(name, bundle.part(name, "codes"), separator_of(name, bundle)) {
  const auto words = dictionary_.words();
  segmenter_.set_vocabulary({words.begin(), words.end()});
  is_whole_word_.assign(size_t(dictionary_.size()), false);
  for (const std::string& word : words) {
    is_whole_word_[size_t(dictionary_.find(word))] = segmenter_.segment_word(word) == std::vector{word};
  }
}

std::vector<int32_t> SubwordNmtVocabulary::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  for (const std::string_view word : SubwordNmt::words(line)) {
    const int id = dictionary_.find(word);
    if (is_whole_word_[size_t(id)]) {
      ids.push_back(id);
      continue;
    }
    for (const std::string& piece : segmenter_.segment_word(word)) {
      if (!piece.empty()) ids.push_back(dictionary_.find(piece));
    }
  }
  return ids;
}

std::string SubwordNmtVocabulary::decode(std::span<const int32_t> ids) const {
  return undo_subword_nmt(join(dictionary_, shown(ids)), segmenter_.separator());
}

std::string SubwordNmtVocabulary::piece(int id) const {
  require_id(id);
  return dictionary_.piece(id);
}

void require_separator(const std::string& separator) {
  if (!is_piece_separator(separator))
    throw UsageError("[vocabulary] --separator: expected ", kSeparatorRule, ", got ", quoted_for_message(separator));
}

void write_subword_nmt_vocabulary(const Path& codes, const Path& dictionary, uint64_t threshold,
                                  const std::string& separator, const Path& output) {
  require_separator(separator);
  const std::string merges = read_file(codes), pieces = read_file(dictionary);
  // Parse the two files first, so that errors name them instead of the output file.
  const SubwordNmt check_codes(codes.string(), merges, separator);
  const Dictionary check_dictionary(dictionary.string(), pieces, threshold);
  save_subword_nmt_vocabulary(merges, pieces, threshold, separator, output);
}

void save_subword_nmt_vocabulary(std::string codes, std::string dictionary, uint64_t threshold,
                                 const std::string& separator, const Path& output) {
  VocabularyBundle bundle{.kind = "subword-nmt"};
  bundle.options = {{"separator", separator}, {"threshold", threshold}};
  bundle.parts = {{"codes", std::move(codes)}, {"dictionary", std::move(dictionary)}};
  SubwordNmtVocabulary(output.string(), bundle).save(output);
}

void write_word_vocabulary(const Path& dictionary, uint64_t threshold, const Path& output) {
  VocabularyBundle bundle{.kind = "words"};
  bundle.options = {{"threshold", threshold}};
  bundle.parts = {{"dictionary", read_file(dictionary)}};
  const Dictionary check_dictionary(dictionary.string(), bundle.parts["dictionary"], threshold);
  WordVocabulary(output.string(), bundle).save(output);
}

}  // namespace gyre
