#include "gyre/data/tokenizer/marian_vocabulary.h"

#include <sentencepiece_processor.h>

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/text/strip.h"
#include "gyre/data/tokenizer/pair_vocabulary.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr const char *kSourceModel = "source.spm", *kTargetModel = "target.spm", *kIds = "vocab.json";

// The special pieces, by their keys in tokenizer_config.json.
struct SpecialPiece {
  const char *key, *piece;
};
constexpr SpecialPiece kUnknownPiece{"unk_token", "<unk>"}, kEndPiece{"eos_token", "</s>"},
    kPaddingPiece{"pad_token", "<pad>"};

// The bundle of a language.
VocabularyBundle language_bundle(std::string model, std::string ids, int64_t size, const Json& config,
                                 const std::string& context) {
  VocabularyBundle bundle{.kind = "marian"};
  bundle.options["size"] = uint64_t(size);
  for (const SpecialPiece& special : {kUnknownPiece, kEndPiece, kPaddingPiece}) {
    const std::string piece = find_token_setting(config, special.key, context);
    bundle.options[special.key] = piece.empty() ? special.piece : piece;
  }
  bundle.parts = {{"model", std::move(model)}, {"ids", std::move(ids)}};
  return bundle;
}

}  // namespace

MarianVocabulary::MarianVocabulary(const std::string& name, const VocabularyBundle& bundle)
    : Vocabulary(bundle.serialize()),
      model_(bundle.part(name, "model")),
      ids_text_(bundle.part(name, "ids")),
      processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  const std::string context = concat("[vocabulary] ", name, ": ");
  const auto status = processor_->LoadFromSerializedProto(model_);
  require(status.ok(), context, "expected a SentencePiece model: ", status.ToString());
  const auto size = bundle.options.find("size");
  require(size != bundle.options.end() && size->is_number_unsigned() && *size <= kMaxDimension, context,
          "expected options.size, a number up to ", kMaxDimension);
  pieces_.resize(size->get<size_t>());
  const auto json = parse_strict_json(ids_text_, 1, context, kIds);
  require(json.is_object(), context, kIds, ": expected an object, got ", cut_for_message(json.dump()));
  for (const auto& [piece, id] : json.items()) {
    require(id.is_number_unsigned() && id.get<uint64_t>() < pieces_.size() && !piece.empty(), context, kIds,
            ": expected ids below ", pieces_.size(), ", got ", cut_for_message(id.dump()), " for ",
            quoted_for_message(piece));
    std::string& place = pieces_[id.get<size_t>()];
    require(place.empty(), context, kIds, ": expected an id for each piece, got ", id.get<int>(), " for ",
            quoted_for_message(place), " and ", quoted_for_message(piece));
    place = piece;
    ids_.emplace(piece, id.get<int>());
  }
  const auto id_of = [&](const SpecialPiece& special) {
    const auto piece = bundle.options.find(special.key);
    require(piece != bundle.options.end() && piece->is_string(), context, "expected options.", special.key, ", a text");
    const auto text = piece->get<std::string>();
    const int id = find(text);
    require(id >= 0, context, kIds, ": expected the ", special.key, " ", quoted_for_message(text), ", found none");
    return id;
  };
  special_.unk = id_of(kUnknownPiece);
  special_.eos = id_of(kEndPiece);
  special_.pad = special_.bos = id_of(kPaddingPiece);
}

MarianVocabulary::~MarianVocabulary() = default;

int MarianVocabulary::find(std::string_view piece) const {
  const auto place = ids_.find(piece);
  return place == ids_.end() ? -1 : place->second;
}

std::vector<int32_t> MarianVocabulary::encode(std::string_view line) const {
  std::vector<int32_t> ids;
  const auto add = [&](std::string_view piece) {
    const int id = find(piece);
    ids.push_back(id < 0 ? special_.unk : id);
  };
  const size_t code = line.starts_with(">>") ? line.find("<<") : line.npos;
  if (code != line.npos) {
    add(line.substr(0, code + 2));
    line.remove_prefix(code + 2);
  }
  std::vector<std::string> pieces;
  const auto status = processor_->Encode(line, &pieces);
  require(status.ok(), "[vocabulary] SentencePiece: ", status.ToString());
  for (const std::string& piece : pieces) add(piece);
  return ids;
}

std::string MarianVocabulary::decode(std::span<const int32_t> ids) const {
  std::vector<std::string> pieces;
  for (const int32_t id : shown(ids)) pieces.push_back(piece(id));
  std::string text;
  const auto status = processor_->Decode(pieces, &text);
  require(status.ok(), "[vocabulary] SentencePiece: ", status.ToString());
  return std::string(strip(with_spaces(std::move(text)), " "));
}

std::string MarianVocabulary::piece(int id) const {
  require_id(id);
  return pieces_[size_t(id)];
}

std::shared_ptr<const Vocabulary> read_marian_vocabulary(const Path& directory, int64_t size) {
  for (const char* name : {kSourceModel, kTargetModel, kIds})
    if (!fs::exists(directory / name)) return nullptr;
  const Json config = find_tokenizer_config(directory);
  const std::string context = tokenizer_context(directory / "tokenizer_config.json");
  const auto read = [&](const char* model, const char* ids) {
    return std::make_shared<MarianVocabulary>(
        (directory / model).string(),
        language_bundle(read_file(directory / model), read_file(directory / ids), size, config, context));
  };
  const bool is_separate = find_flag_setting(config, "separate_vocabs", context).value_or(false);
  require(!is_separate, context, "separate_vocabs: expected false, the only supported value, got true");
  return std::make_shared<PairVocabulary>(directory.string(), read(kSourceModel, kIds), read(kTargetModel, kIds));
}

bool can_write_marian(const Vocabulary& vocabulary) {
  if (const auto* sentencepiece = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary)) {
    for (int id = 0; id < vocabulary.size(); ++id)
      if (sentencepiece->piece(id) == kPaddingPiece.piece) return false;
    return true;
  }
  return vocabulary.shares_ids() && dynamic_cast<const MarianVocabulary*>(&vocabulary.side(0)) != nullptr;
}

namespace {

// The ids of a SentencePiece vocabulary and of the padding, as vocab.json has them.
std::string ids_text(const SentencePieceVocabulary& vocabulary, int pad) {
  std::string text;
  const auto add = [&](const std::string& piece, int id) {
    text += concat(text.empty() ? "{\n" : ",\n", "  ", json_text(Json(piece)), ": ", id);
  };
  for (int id = 0; id < vocabulary.size(); ++id) {
    const std::string piece = vocabulary.piece(id);
    add(piece.empty() ? concat("<unused", id, ">") : piece, id);
  }
  if (pad == vocabulary.size()) add(kPaddingPiece.piece, pad);
  return text + "\n}\n";
}

}  // namespace

void write_marian_vocabulary(const Path& directory, const Vocabulary& vocabulary, int pad, int64_t longest) {
  const auto* sentencepiece = dynamic_cast<const SentencePieceVocabulary*>(&vocabulary);
  const auto* source = dynamic_cast<const MarianVocabulary*>(&vocabulary.side(0));
  const auto* target = dynamic_cast<const MarianVocabulary*>(&vocabulary.side(1));
  const Vocabulary& pieces = vocabulary.side(1);
  write_file(directory / kSourceModel, sentencepiece != nullptr ? sentencepiece->model() : source->model());
  write_file(directory / kTargetModel, sentencepiece != nullptr ? sentencepiece->model() : target->model());
  write_file(directory / kIds, sentencepiece != nullptr ? ids_text(*sentencepiece, pad) : source->ids());
  Json config{{"tokenizer_class", "MarianTokenizer"},
              {kUnknownPiece.key, pieces.piece(pieces.unk())},
              {kEndPiece.key, pieces.piece(pieces.eos())},
              {kPaddingPiece.key, pad < pieces.size() ? pieces.piece(pad) : kPaddingPiece.piece},
              {"model_max_length", longest},
              {"clean_up_tokenization_spaces", false},
              {"separate_vocabs", false},
              {"sp_model_kwargs", Json::object()}};
  write_file(directory / "tokenizer_config.json", json_text(config, 2) + "\n");
}

}  // namespace gyre
