#include "gyre/data/tokenizer/hugging_face/bpe_model.h"

#include <algorithm>
#include <cstdio>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/byte_notation.h"

namespace gyre {

namespace {

std::string byte_name(int byte) {
  char name[8];
  std::snprintf(name, sizeof name, "<0x%02X>", unsigned(byte));
  return name;
}

bool occurs_in_utf8(int byte) { return byte != 0xC0 && byte != 0xC1 && byte < 0xF5; }

}  // namespace

BpeModel::BpeModel(JsonPart& model, bool has_bytes) : has_bytes_(has_bytes) {
  const auto& dropout = model.get("dropout");
  model.expect(dropout.is_null() || dropout == 0, "dropout", "null", dropout);
  read_pieces(model);
  read_unk(model, false);
  prefix_ = model.text("continuing_subword_prefix", "");
  suffix_ = model.text("end_of_word_suffix", "");
  is_plain_ = prefix_.empty() && suffix_.empty();
  ignore_merges_ = model.flag("ignore_merges", false);
  fuse_unk_ = model.flag("fuse_unk", false);
  if (model.flag("byte_fallback", false)) {
    fallback_.emplace();
    for (int byte = 0; byte < kByteValues; ++byte) (*fallback_)[size_t(byte)] = find(byte_name(byte));
  }
  for (int byte = 0; byte < kByteValues; ++byte) byte_ids_[size_t(byte)] = find(byte_characters()[size_t(byte)]);
  check_unk(model);
  read_merges(model);
  find_words();
}

bool BpeModel::has_all_bytes() const {
  return has_bytes_ && is_plain_ && std::find(byte_ids_.begin(), byte_ids_.end(), -1) == byte_ids_.end();
}

// The library reports an unk_token that is no piece only when it meets an unknown character.
void BpeModel::check_unk(JsonPart& model) {
  const auto& token = model.get("unk_token");
  model.expect(has_all_bytes() || token.is_null() || unk_ >= 0, "unk_token", "a piece of model.vocab", token);
  if (has_all_bytes()) unk_ = -1;
}

void BpeModel::read_merges(JsonPart& model) {
  const auto& merges = model.get("merges");
  model.expect(merges.is_array(), "merges", "a list", merges);
  std::vector<ByteBpeMerge> read;
  read.reserve(merges.size());
  const auto id_of = [&](std::string_view piece, const auto& merge) {
    const int32_t id = find(piece);
    if (id < 0) model.refuse("merges", "pieces of model.vocab", merge);
    return id;
  };
  for (const auto& merge : merges) {
    std::string left, right;
    if (merge.is_string()) {  // the form until version 0.20 of tokenizers
      const auto& joined = merge.template get_ref<const std::string&>();
      const size_t space = joined.find(' ');
      model.expect(space != std::string::npos, "merges", "two pieces with a space between them", merge);
      left = joined.substr(0, space);
      right = joined.substr(space + 1);
    } else {
      model.expect(merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string(), "merges",
                   "pairs of pieces", merge);
      left = merge[0].template get<std::string>();
      right = merge[1].template get<std::string>();
    }
    model.expect(right.size() >= prefix_.size(), "merges", "pieces with the prefix that continues a word", merge);
    read.push_back({id_of(left, merge), id_of(right, merge), id_of(left + right.substr(prefix_.size()), merge)});
  }
  merges_.emplace(read);
}

void BpeModel::find_words() {
  ByteBpeMerges::Workspace workspace;
  Ids words;
  for (size_t id = 0; id < pieces_.size(); ++id) {
    if (pieces_[id].empty() && find("") != int32_t(id)) continue;
    std::string word = pieces_[id];
    if (has_bytes_) {
      auto bytes = notated_bytes(word);
      if (!bytes) continue;
      word = std::move(*bytes);
    }
    if (word.empty()) continue;
    std::vector<int32_t> ids;
    if (!ignore_merges_) encode(word, ids, workspace);
    if (ignore_merges_ || ids == std::vector{int32_t(id)}) words.emplace(std::move(word), int32_t(id));
  }
  words_ = std::move(words);
}

void BpeModel::encode(std::string_view word, std::vector<int32_t>& ids, ByteBpeMerges::Workspace& workspace) const {
  if (const auto place = words_.find(word); place != words_.end()) return ids.push_back(place->second);
  std::vector<int32_t> symbols;
  symbols.reserve(word.size());
  if (has_bytes_ && is_plain_)
    encode_bytes(word, symbols);
  else if (has_bytes_)
    encode_characters(byte_notation(word), symbols);
  else
    encode_characters(word, symbols);
  merges_->apply(symbols, workspace);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

void BpeModel::encode_bytes(std::string_view word, std::vector<int32_t>& symbols) const {
  Unknown unknown;
  for (const char byte : word) {
    const int32_t id = byte_ids_[uint8_t(byte)];
    if (id >= 0 && !unknown.is_pending)
      symbols.push_back(id);
    else
      add_symbol(byte_characters()[uint8_t(byte)], symbols, unknown);
  }
  if (unknown.is_pending) symbols.push_back(unk_);
}

void BpeModel::encode_characters(std::string_view word, std::vector<int32_t>& symbols) const {
  const auto characters = split_characters(word);
  Unknown unknown;
  for (size_t i = 0; i < characters.size(); ++i) {
    if (is_plain_) {
      add_symbol(characters[i], symbols, unknown);
      continue;
    }
    std::string symbol(characters[i]);
    if (i > 0) symbol.insert(0, prefix_);
    if (i + 1 == characters.size()) symbol += suffix_;
    add_symbol(symbol, symbols, unknown);
  }
  if (unknown.is_pending) symbols.push_back(unk_);
}

void BpeModel::add_symbol(std::string_view symbol, std::vector<int32_t>& symbols, Unknown& unknown) const {
  const int32_t id = find(symbol);
  if (id < 0) return add_unknown(symbol, symbols, unknown);
  if (unknown.is_pending) symbols.push_back(unk_);
  unknown.is_pending = false;
  symbols.push_back(id);
}

// As in the library, the bytes of an unknown character come before an unknown token that precedes them.
void BpeModel::add_unknown(std::string_view symbol, std::vector<int32_t>& symbols, Unknown& unknown) const {
  if (fallback_) {
    const size_t before = symbols.size();
    for (const char byte : symbol) symbols.push_back((*fallback_)[uint8_t(byte)]);
    if (std::find(symbols.begin() + std::ptrdiff_t(before), symbols.end(), -1) == symbols.end()) return;
    symbols.resize(before);
  }
  if (unk_ < 0) return;  // left out
  if (unknown.is_pending && !fuse_unk_) symbols.push_back(unk_);
  unknown.is_pending = true;
}

std::string BpeModel::note() const {
  const auto fate = [this] { return unk_ < 0 ? "left out" : pieces_[size_t(unk_)]; };
  if (!has_bytes_) {
    if (fallback_ && std::find(fallback_->begin(), fallback_->end(), -1) == fallback_->end()) return "";
    return concat("the vocabulary has pieces for some characters only: others are ", fate());
  }
  std::string missing;
  int count = 0;
  for (int byte = 0; byte < kByteValues; ++byte) {
    if (byte_ids_[size_t(byte)] >= 0 || !occurs_in_utf8(byte)) continue;
    if (++count <= 8) missing.append(count > 1 ? " " : "").append(byte_name(byte));
  }
  if (count == 0) return "";
  return concat("the vocabulary has no pieces for ", count, count == 1 ? " byte" : " bytes",
                " that texts can contain (", missing, count > 8 ? " and others" : "", "): they are ", fate(),
                byte_ids_['\n'] < 0 ? "; none for line ends, so the default is --line-ends none" : "");
}

}  // namespace gyre
