#include "data/hugging_face_vocabulary.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/strict_json.h"

namespace gyre {

namespace {

constexpr const char* kSettings = "tokenizer_config.json";

nlohmann::json read_json(const Path& path) {
  constexpr int kDeepest = 20;
  const std::string context = concat("[vocabulary] ", path.string(), ": ");
  auto json = parse_strict_json(read_file(path), kDeepest, context, "the file");
  require(json.is_object(), context, "expected a JSON object");
  return json;
}

// The pieces of a tokenizer.json, {"model": {"type": "WordPiece", "vocab": {piece: id}}}, as the lines of a vocab.txt.
std::string pieces_of(const Path& path) {
  const std::string context = concat("[vocabulary] ", path.string(), ": ");
  const nlohmann::json json = read_json(path), model = json.value("model", nlohmann::json());
  require(model.is_object() && model.value("type", nlohmann::json("WordPiece")) == "WordPiece" &&
              model.contains("vocab") && model["vocab"].is_object(),
          context, "expected a \"model\" of type WordPiece with its \"vocab\"");
  std::vector<std::string> pieces(model["vocab"].size());
  std::vector<bool> taken(pieces.size());
  for (const auto& [piece, id] : model["vocab"].items()) {
    const bool fits = id.is_number_unsigned() && id < pieces.size() && !taken[id.get<size_t>()];
    require(fits, context, "piece ", quoted_for_message(piece), ": expected an id of its own below ", pieces.size(),
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
                                   lower_case_beside(tokenizer).value_or(true));
}

bool has_roformer_tokenizer(const Path& directory) {
  const Path path = directory / kSettings;
  if (!std::filesystem::exists(path)) return false;
  const nlohmann::json tokenizer = read_json(path).value("tokenizer_class", nlohmann::json());
  return tokenizer.is_string() && tokenizer.get<std::string>().starts_with("RoFormer");
}

// Named here too for a RoFormer: RoFormerTokenizer would cut Chinese into words first, which Gyre's ids do not.
void write_hugging_face_vocabulary(const Path& directory, const WordPieceVocabulary& vocabulary, int64_t longest) {
  std::string pieces;
  for (int id = 0; id < vocabulary.size(); ++id) pieces += vocabulary.piece(id) + "\n";
  write_file(directory / "vocab.txt", pieces);
  const nlohmann::ordered_json settings{
      {"tokenizer_class", "BertTokenizer"}, {"do_lower_case", vocabulary.lower_case()}, {"model_max_length", longest}};
  write_file(directory / kSettings, settings.dump(2) + "\n");
}

}  // namespace gyre
