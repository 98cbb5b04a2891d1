#include "gyre/data/tokenizer/hugging_face_vocabulary.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/data/tokenizer/wobert/wobert_vocabulary.h"

namespace gyre {

namespace {

// Converts a tokenizer.json, {"model": {"type": "WordPiece", "vocab": {piece: id}}}, to the lines of a vocab.txt.
std::string pieces_of(const Path& path) {
  const std::string context = concat("[vocabulary] ", path.string(), ": ");
  constexpr int kDeepest = 20;
  const nlohmann::json json = parse_strict_json(read_file(path), kDeepest, context, "the file");
  require(json.is_object(), context, "expected a JSON object");
  const nlohmann::json model = json.value("model", nlohmann::json());
  require(model.is_object() && model.value("type", nlohmann::json("WordPiece")) == "WordPiece" &&
              model.contains("vocab") && model["vocab"].is_object(),
          context, "expected a \"model\" of type WordPiece with its \"vocab\"");
  std::vector<std::string> pieces(model["vocab"].size());
  std::vector<bool> taken(pieces.size());
  for (const auto& [piece, id] : model["vocab"].items()) {
    const bool fits = id.is_number_unsigned() && id < pieces.size() && !taken[id.get<size_t>()];
    require(fits, context, "piece ", quoted_for_message(piece), ": expected a unique id below ", pieces.size(),
            ", got ", cut_for_message(id.dump()));
    taken[id.get<size_t>()] = true;
    pieces[id.get<size_t>()] = piece;
  }
  std::string text;
  for (const std::string& piece : pieces) text += piece + "\n";
  return text;
}

// The counterpart of pieces_of, with the fields that transformers requires.
std::string tokenizer_json(const WordPieceVocabulary& vocabulary) {
  nlohmann::json ids = nlohmann::json::object();
  for (int id = 0; id < vocabulary.size(); ++id) {
    const std::string piece = vocabulary.piece(id);
    require(!first_invalid_utf8(piece), "[hugging face] piece ", id, ": expected UTF-8, got ",
            quoted_for_message(piece));
    ids[piece] = id;
  }
  const nlohmann::json model{{"type", "WordPiece"},
                             {"unk_token", "[UNK]"},
                             {"continuing_subword_prefix", "##"},
                             {"max_input_chars_per_word", kLongestBertWord},
                             {"vocab", std::move(ids)}};
  return nlohmann::json{{"version", "1.0"}, {"added_tokens", nlohmann::json::array()}, {"model", model}}.dump() + "\n";
}

}  // namespace

std::shared_ptr<const Vocabulary> read_hugging_face_vocabulary(const Path& directory,
                                                               const TokenizerChoice& tokenizer) {
  if (std::filesystem::exists(directory / "vocab.txt")) return load_vocabulary(directory / "vocab.txt", tokenizer);
  const Path file = directory / "tokenizer.json";
  tokenizer.check();
  if (!std::filesystem::exists(file)) return nullptr;
  auto vocabulary =
      make_wordpiece_vocabulary(file.string(), pieces_of(file), find_lower_case_setting(directory).value_or(true));
  if (tokenizer.kind != "wobert") return vocabulary;
  return make_wobert_vocabulary(file.string(), *vocabulary, tokenizer.dictionary);
}

std::shared_ptr<const Vocabulary> read_hugging_face_byte_bpe(const Path& directory, int64_t size) {
  const Path file = directory / "tokenizer.json";
  if (!std::filesystem::exists(file)) return nullptr;
  ByteBpeSettings settings = find_byte_bpe_settings(directory);
  settings.size = int(size);
  return std::make_shared<ByteBpeVocabulary>(file.string(), read_file(file), settings);
}

// Names BertTokenizer for a RoFormer with WordPiece too, because RoFormerTokenizer splits Chinese text into words first
// and would give different ids than Gyre.
void write_hugging_face_vocabulary(const Path& directory, const WordPieceVocabulary& vocabulary, int64_t longest) {
  write_file(directory / "vocab.txt", vocabulary.lines());
  const bool finds_words = vocabulary.kind() == "wobert";
  const Path tokenizer = directory / "tokenizer.json";
  if (finds_words) {
    write_file(tokenizer, tokenizer_json(vocabulary));
  } else {
    std::filesystem::remove(tokenizer);  // transformers would prefer it to vocab.txt
  }
  write_tokenizer_config(directory, finds_words ? "RoFormerTokenizer" : "BertTokenizer", vocabulary.lower_case(),
                         longest);
}

void write_hugging_face_vocabulary(const Path& directory, const ByteBpeVocabulary& vocabulary) {
  write_file(directory / "tokenizer.json", vocabulary.tokenizer());
  const nlohmann::ordered_json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                                      {"bos_token", vocabulary.piece(vocabulary.bos())},
                                      {"eos_token", vocabulary.piece(vocabulary.eos())},
                                      {"clean_up_tokenization_spaces", false}};
  write_file(directory / "tokenizer_config.json", config.dump(2) + "\n");
}

}  // namespace gyre
