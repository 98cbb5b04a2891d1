#include "gyre/data/tokenizer/hugging_face_vocabulary.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/strict_json.h"
#include "gyre/data/tokenizer/wordpiece/tokenizer_config.h"

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

}  // namespace

std::shared_ptr<const Vocabulary> read_hugging_face_vocabulary(const Path& directory) {
  if (std::filesystem::exists(directory / "vocab.txt")) return load_vocabulary(directory / "vocab.txt");
  const Path tokenizer = directory / "tokenizer.json";
  if (!std::filesystem::exists(tokenizer)) return nullptr;
  return make_wordpiece_vocabulary(tokenizer.string(), pieces_of(tokenizer),
                                   find_lower_case_setting(directory).value_or(true));
}

// Names BertTokenizer for a RoFormer too, because RoFormerTokenizer splits Chinese text into words first and would give
// different ids than Gyre.
void write_hugging_face_vocabulary(const Path& directory, const WordPieceVocabulary& vocabulary, int64_t longest) {
  std::string pieces;
  for (int id = 0; id < vocabulary.size(); ++id) pieces += vocabulary.piece(id) + "\n";
  write_file(directory / "vocab.txt", pieces);
  write_tokenizer_config(directory, vocabulary.lower_case(), longest);
}

}  // namespace gyre
