#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/pre_tokenizer.h"
#include "gyre/data/tokenizer/tokenizer_config.h"

namespace gyre {
namespace {

bool lower_case_of(const std::string& name, const VocabularyBundle& bundle) {
  const auto place = bundle.options.find("lower_case");
  require(place != bundle.options.end() && place->is_boolean(), "[vocabulary] ", name,
          ":1: expected options.lower_case, true or false");
  return place->get<bool>();
}

}  // namespace

bool WordPieceVocabulary::recognizes(std::string_view content) {
  for (const std::string_view piece : {"[UNK]", "[CLS]", "[SEP]"}) {
    if (!content.starts_with(piece) && content.find(concat("\n", piece)) == std::string_view::npos) return false;
  }
  return true;
}

WordPieceVocabulary::WordPieceVocabulary(const std::string& name, std::string content)
    : Vocabulary(std::move(content)) {
  read_pieces(name, this->content());
}

WordPieceVocabulary::WordPieceVocabulary(const std::string& name, const VocabularyBundle& bundle)
    : Vocabulary(bundle.serialize()), is_lower_(lower_case_of(name, bundle)) {
  read_pieces(name, bundle.part(name, "vocabulary"));
}

void WordPieceVocabulary::read_pieces(const std::string& name, std::string_view text) {
  for (std::string_view line; take_line(text, line);) {
    const auto id = int32_t(pieces_.size());
    pieces_.emplace_back(line);
    longest_piece_ = std::max(longest_piece_, line.size());
    if (!ids_.try_emplace(pieces_.back(), id).second)
      throw Error("[vocabulary] ", name, ":", id + 1, ": the piece \"", cut_for_message(line), "\" occurs twice");
  }
  special_.unk = find_special(name, "[UNK]");
  special_.bos = find_special(name, "[CLS]");
  special_.eos = find_special(name, "[SEP]");
  special_.pad = find("[PAD]");
}

int WordPieceVocabulary::find_special(const std::string& name, std::string_view piece) const {
  const int32_t id = find(piece);
  require(id >= 0, "[vocabulary] ", name, ": expected a piece ", piece);
  return id;
}

int32_t WordPieceVocabulary::find(std::string_view piece) const {
  const auto place = ids_.find(piece);
  return place == ids_.end() ? -1 : place->second;
}

std::vector<int32_t> WordPieceVocabulary::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  size_t plain = 0;  // beginning of the text that is not yet encoded
  for (size_t at = line.find('['); at != std::string_view::npos; at = line.find('[', at)) {
    const int32_t special = leading_special(line.substr(at));
    if (special < 0) {
      ++at;
      continue;
    }
    encode_plain(line.substr(plain, at - plain), ids);
    ids.push_back(special);
    plain = at += pieces_[size_t(special)].size();
  }
  encode_plain(line.substr(plain), ids);
  return ids;
}

int32_t WordPieceVocabulary::leading_special(std::string_view text) const {
  for (const std::string_view special : kBertSpecials) {
    if (text.starts_with(special)) return find(special);
  }
  return -1;
}

void WordPieceVocabulary::encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
  for (const std::string& word : bert_words(text, is_lower_)) encode_word(word, ids);
}

void WordPieceVocabulary::encode_word(const std::string& word, std::vector<int32_t>& ids) const {
  const auto characters = split_characters(word);
  const size_t before = ids.size();
  const auto give_up = [&] {
    ids.resize(before);
    ids.push_back(special_.unk);
  };
  if (characters.size() > kLongestBertWord) return give_up();
  std::string rest = word;  // rest of the word, with "##" after the first piece
  for (size_t begin = 0; begin < characters.size();) {
    size_t bytes = rest.size(), end = characters.size();
    for (; end > begin; bytes -= characters[--end].size()) {
      if (bytes > longest_piece_) continue;
      const int32_t id = find(std::string_view(rest).substr(0, bytes));
      if (id < 0) continue;
      ids.push_back(id);
      break;
    }
    if (end == begin) return give_up();
    rest.replace(0, bytes, "##");
    begin = end;
  }
}

std::string WordPieceVocabulary::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : shown(ids)) {
    std::string_view piece = pieces_[size_t(id)];
    if (piece.starts_with("##") && !text.empty()) {
      piece.remove_prefix(2);
    } else if (!text.empty()) {
      text += ' ';
    }
    text += piece;
  }
  return text;
}

std::string WordPieceVocabulary::piece(int id) const {
  require_id(id);
  return pieces_[size_t(id)];
}

std::string WordPieceVocabulary::lines() const {
  std::string text;
  for (const std::string& piece : pieces_) text += piece + "\n";
  return text;
}

std::shared_ptr<const Vocabulary> make_wordpiece_vocabulary(const std::string& name, std::string content,
                                                            bool lower_case, std::string note) {
  auto vocabulary = lower_case
                        ? std::make_shared<WordPieceVocabulary>(name, std::move(content))
                        : std::make_shared<WordPieceVocabulary>(name, wordpiece_bundle(std::move(content), false));
  vocabulary->set_note(std::move(note));
  return vocabulary;
}

VocabularyBundle wordpiece_bundle(std::string vocabulary, bool lower_case) {
  VocabularyBundle bundle{.kind = "wordpiece"};
  bundle.options = {{"lower_case", lower_case}};
  bundle.parts = {{"vocabulary", std::move(vocabulary)}};
  return bundle;
}

void write_wordpiece_vocabulary(const Path& vocabulary, bool lower_case, const Path& output) {
  require(find_lower_case_setting(vocabulary.parent_path()).value_or(lower_case) == lower_case, "[vocabulary] ",
          vocabulary.string(), ": tokenizer_config.json in its folder says ",
          lower_case ? "cased: give --cased" : "lower case, got --cased");
  WordPieceVocabulary(vocabulary.string(), wordpiece_bundle(read_file(vocabulary), lower_case)).save(output);
}

// ---- BERT's basic tokenizer, which splits text into words before WordPiece -----------------------------------------

std::vector<std::string> bert_words(std::string_view text, bool lower_case) {
  static const Normalizer cased({{"type", "BertNormalizer"}, {"lowercase", false}}, "[wordpiece] "),
      lower({{"type", "BertNormalizer"}, {"lowercase", true}}, "[wordpiece] ");
  static const PreTokenizer pre_tokenizer({{"type", "BertPreTokenizer"}}, "[wordpiece] ");
  std::vector<std::string> words;
  pre_tokenizer.split(lower_case ? lower(text) : cased(text), true,
                      [&](std::string_view word, bool) { words.emplace_back(word); });
  return words;
}

}  // namespace gyre
