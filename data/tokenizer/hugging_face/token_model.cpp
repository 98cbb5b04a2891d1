#include "gyre/data/tokenizer/hugging_face/token_model.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/characters.h"

namespace gyre {
namespace {

constexpr uint32_t kNone = UINT32_MAX;  // no neighbor
constexpr int32_t kGone = -1;           // id of a symbol that was joined to the one before

uint64_t key_of(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

}  // namespace

ByteBpeMerges::ByteBpeMerges(const std::vector<ByteBpeMerge>& merges) {
  steps_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank)
    steps_[key_of(merges[rank].left, merges[rank].right)] = {int32_t(rank), merges[rank].merged};
}

const ByteBpeMerges::Step* ByteBpeMerges::find(int32_t left, int32_t right) const {
  const auto place = steps_.find(key_of(left, right));
  return place == steps_.end() ? nullptr : &place->second;
}

void ByteBpeMerges::push(uint32_t left, Workspace& workspace) const {
  const Workspace::Symbol& symbol = workspace.symbols[left];
  if (symbol.next == kNone) return;
  const Step* step = find(symbol.id, workspace.symbols[symbol.next].id);
  if (step == nullptr) return;
  workspace.heap.push_back({step->rank, left, step->merged});
  std::push_heap(workspace.heap.begin(), workspace.heap.end());
}

void ByteBpeMerges::apply(std::vector<int32_t>& ids, Workspace& workspace) const {
  auto& [symbols, heap] = workspace;
  const auto size = uint32_t(ids.size());
  symbols.clear();
  heap.clear();
  for (uint32_t i = 0; i < size; ++i)
    symbols.push_back({ids[i], i == 0 ? kNone : i - 1, i + 1 == size ? kNone : i + 1});
  for (uint32_t i = 0; i < size; ++i) push(i, workspace);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Workspace::Candidate best = heap.back();
    heap.pop_back();
    Workspace::Symbol& left = symbols[best.left];
    if (left.id == kGone || left.next == kNone) continue;
    Workspace::Symbol& right = symbols[left.next];
    const Step* step = find(left.id, right.id);
    if (step == nullptr || step->merged != best.merged) continue;  // one of the two pieces was joined to another one
    left.id = best.merged;
    left.next = right.next;
    right.id = kGone;
    if (left.next != kNone) symbols[left.next].previous = best.left;
    if (left.previous != kNone) push(left.previous, workspace);
    push(best.left, workspace);
  }
  ids.clear();
  for (const Workspace::Symbol& symbol : symbols)
    if (symbol.id != kGone) ids.push_back(symbol.id);
}

namespace {

// BPE as the model of a tokenizer.json: merges join the bytes or the characters of a word to pieces.
class BpeModel final : public TokenModel {
 public:
  BpeModel(JsonPart& model, bool has_bytes);

  std::string_view kind() const override { return has_bytes_ ? "byte-bpe" : "character-bpe"; }
  void encode(std::string_view word, std::vector<int32_t>& ids, ByteBpeMerges::Workspace& workspace) const override;
  std::string note() const override;
  bool has_all_bytes() const override;

 private:
  // The unknown characters at the end of a word so far, which become one id or several.
  struct Unknown {
    bool is_pending = false;
  };
  void read_merges(JsonPart& model);
  void find_words();
  void check_unk(JsonPart& model);
  void add_symbol(std::string_view symbol, std::vector<int32_t>& symbols, Unknown& unknown) const;
  void add_unknown(std::string_view symbol, std::vector<int32_t>& symbols, Unknown& unknown) const;
  void encode_bytes(std::string_view word, std::vector<int32_t>& symbols) const;
  void encode_characters(std::string_view word, std::vector<int32_t>& symbols) const;

  bool has_bytes_, is_plain_ = true;  // is_plain_: pieces have neither a prefix nor a suffix
  bool ignore_merges_ = false;        // a word that is a piece is never split
  bool fuse_unk_ = false;             // one id for adjacent unknown characters
  std::string suffix_{};              // suffix of pieces that end a word
  std::array<int32_t, 256> byte_ids_{};
  std::optional<std::array<int32_t, 256>> fallback_{};  // ids of "<0x00>" and so on, for unknown characters; -1: none
  std::optional<ByteBpeMerges> merges_{};
  // Words that are one piece, with their ids: a shortcut, because that holds for most words. Keys: bytes or characters.
  Ids words_{};
};

std::string byte_name(int byte) {
  char name[8];
  std::snprintf(name, sizeof name, "<0x%02X>", unsigned(byte));
  return name;
}

bool occurs_in_utf8(int byte) { return byte != 0xC0 && byte != 0xC1 && byte < 0xF5; }

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
    if (merge.is_string()) {  // format until version 0.20 of tokenizers
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

size_t longest_of(const std::vector<std::string>& pieces) {
  size_t longest = 0;
  for (const std::string& piece : pieces) longest = std::max(longest, piece.size());
  return longest;
}

// Takes the longest piece at the beginning of a word, again and again. A word that does not consist of pieces, or is
// too long, is unknown as a whole.
class WordPieceModel final : public TokenModel {
 public:
  explicit WordPieceModel(JsonPart& model) {
    read_pieces(model);
    read_unk(model, true);
    prefix_ = model.text("continuing_subword_prefix", "##");
    const auto& longest = model.get("max_input_chars_per_word");
    model.expect(longest.is_null() || longest.is_number_unsigned(), "max_input_chars_per_word", "a number", longest);
    if (!longest.is_null()) longest_word_ = longest.get<uint64_t>();
    longest_piece_ = longest_of(pieces_);
  }

  std::string_view kind() const override { return "wordpiece"; }

  void encode(std::string_view word, std::vector<int32_t>& ids, ByteBpeMerges::Workspace&) const override {
    const auto characters = split_characters(word);
    const size_t before = ids.size();
    size_t begin = 0;  // place in characters
    std::string rest(word);
    while (begin < characters.size() && characters.size() <= longest_word_) {
      size_t bytes = rest.size(), end = characters.size();
      int32_t id = -1;
      for (; end > begin; bytes -= characters[--end].size())
        if (bytes <= longest_piece_ && (id = find(std::string_view(rest).substr(0, bytes))) >= 0) break;
      if (id < 0) break;
      ids.push_back(id);
      rest.replace(0, bytes, prefix_);
      begin = end;
    }
    if (begin == characters.size()) return;
    ids.resize(before);
    ids.push_back(unk_);
  }

 private:
  uint64_t longest_word_ = 100;  // characters
  size_t longest_piece_ = 0;     // bytes
};

class WordLevelModel final : public TokenModel {
 public:
  explicit WordLevelModel(JsonPart& model) {
    read_pieces(model);
    read_unk(model, true);
  }

  std::string_view kind() const override { return "words"; }

  void encode(std::string_view word, std::vector<int32_t>& ids, ByteBpeMerges::Workspace&) const override {
    const int32_t id = find(word);
    ids.push_back(id < 0 ? unk_ : id);
  }
};

// Early files have no type.
std::string type_of(JsonPart& model) {
  const char* const guess = model.has("merges")                      ? "BPE"
                            : model.has("continuing_subword_prefix") ? "WordPiece"
                            : model.get("vocab").is_array()          ? "Unigram"
                                                                     : "WordLevel";
  return model.text("type", guess);
}

}  // namespace

std::unique_ptr<TokenModel> TokenModel::read(JsonPart model, bool has_bytes) {
  std::unique_ptr<TokenModel> read;
  const std::string type = type_of(model);
  if (type == "BPE") {
    read = std::make_unique<BpeModel>(model, has_bytes);
  } else if (type == "WordPiece") {
    read = std::make_unique<WordPieceModel>(model);
  } else if (type == "WordLevel") {
    read = std::make_unique<WordLevelModel>(model);
  } else {
    model.refuse("type", "BPE, WordPiece or WordLevel", type);
  }
  model.expect(type == "BPE" || !has_bytes, "type", "BPE, because the pre-tokenizer is ByteLevel", type);
  model.finish();
  return read;
}

int32_t TokenModel::find(std::string_view piece) const {
  const auto place = ids_.find(piece);
  return place == ids_.end() ? -1 : place->second;
}

void TokenModel::read_pieces(JsonPart& model) {
  const auto& vocab = model.get("vocab");
  model.expect(vocab.is_object(), "vocab", "an object with the ids of pieces", vocab);
  const size_t most = 2 * vocab.size() + 256;  // bounds the memory for ids without a piece
  std::vector<bool> taken(most);
  for (const auto& [piece, id] : vocab.items()) {
    const bool fits = id.is_number_unsigned() && id < most && !taken[id.get<size_t>()];
    if (!fits) model.refuse("vocab." + cut_for_message(piece), concat("a unique id below ", most), id);
    const auto place = id.get<size_t>();
    taken[place] = true;
    if (place >= pieces_.size()) pieces_.resize(place + 1);
    pieces_[place] = piece;
    ids_.emplace(piece, int32_t(place));
  }
}

void TokenModel::read_unk(JsonPart& model, bool is_required) {
  const bool is_named = is_required || !model.get("unk_token").is_null();
  const std::string token = is_named ? model.text("unk_token", "[UNK]") : "";
  unk_ = is_named ? find(token) : -1;
  model.expect(unk_ >= 0 || !is_required, "unk_token", "a piece of model.vocab", token);
}

}  // namespace gyre
