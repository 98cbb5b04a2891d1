#include "gyre/data/tokenizer/hugging_face/token_model.h"

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face/bpe_model.h"

namespace gyre {

namespace {

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
