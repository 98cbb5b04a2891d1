#include "gyre/train/pretrained/hugging_face.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors_shards.h"
#include "gyre/core/version.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/models/hugging_face/config.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/models/hugging_face/weights.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/checkpoint/manifest.h"
#include "gyre/train/checkpoint/run_directory.h"

namespace gyre {

namespace {

namespace fs = std::filesystem;

Path weights_file(const Path& directory) {
  if (const auto file = find_safetensors(directory)) return *file;
  // save_file refuses tensors that share memory, such as tied ones, so they are copied.
  constexpr const char* kConvert =
      "pytorch_model.bin only; PyTorch converts it, in that directory: python3 -c 'import torch, safetensors.torch as "
      "s; "
      "t = torch.load(\"pytorch_model.bin\", weights_only=True); "
      "s.save_file({k: v.contiguous().clone() for k, v in t.items()}, \"model.safetensors\")'";
  constexpr const char* kConvertShards =
      "shards of pytorch_model.bin only; transformers converts them: "
      "AutoModelForMaskedLM.from_pretrained(DIR).save_pretrained(DIR)";
  const auto holds = [&](const char* name) { return fs::exists(directory / name); };
  throw Error("[hugging face] ", directory.string(), ": expected ", kModelFile, " or ", kShardIndex, ", found ",
              holds("pytorch_model.bin")              ? kConvert
              : holds("pytorch_model.bin.index.json") ? kConvertShards
                                                      : "neither");
}

// True if WordPiece splits at least a tenth of the pieces, as in a vocabulary of Chinese words.
bool has_words_that_wordpiece_splits(const Vocabulary& vocabulary) {
  constexpr int kShare = 10;
  int split = 0;
  for (int id = 0; id < vocabulary.size(); ++id) {
    const std::string piece = vocabulary.piece(id);
    if (!piece.starts_with("##") && vocabulary.encode(piece).size() > 1) ++split;
  }
  return split * kShare >= vocabulary.size();
}

// Decoders have many kinds of tokenizers. A kind that Gyre does not have is a note, and no reason to refuse the model.
std::shared_ptr<const Vocabulary> decoder_vocabulary(const Path& directory, int64_t size,
                                                     std::vector<std::string>& notes) {
  try {
    auto vocabulary = read_hugging_face_byte_bpe(directory, size);
    if (!vocabulary)
      notes.push_back(concat("no tokenizer.json in ", directory.string(), ": the model has no vocabulary"));
    return vocabulary;
  } catch (const Error& error) {
    notes.push_back(concat("the tokenizer is not imported, and the model has no vocabulary: ", error.what()));
    return nullptr;
  }
}

std::shared_ptr<const Vocabulary> fitting_vocabulary(const Path& directory, const TokenizerChoice& tokenizer,
                                                     const EncoderOnlyConfig& encoder,
                                                     std::vector<std::string>& notes) {
  const int64_t size = encoder.vocab_size;
  if (encoder.causal) return decoder_vocabulary(directory, size, notes);
  auto vocabulary = read_hugging_face_vocabulary(directory, tokenizer);
  if (!vocabulary) {
    notes.push_back(concat("no vocab.txt or tokenizer.json in ", directory.string(), ": the model has no vocabulary"));
    return nullptr;
  }
  require(vocabulary->size() == size, "[hugging face] ", directory.string(), ": expected as many vocabulary ",
          "pieces as vocab_size in config.json, ", size, ", got ", vocabulary->size());
  if (vocabulary->kind() == "wobert") return vocabulary;
  constexpr const char* kAdvice =
      ", and WordPiece splits Chinese into characters; --tokenizer wobert --dictionary FILE finds words";
  if (has_roformer_tokenizer(directory)) {
    notes.push_back(concat("its RoFormerTokenizer finds Chinese words first", kAdvice));
  } else if (has_words_that_wordpiece_splits(*vocabulary)) {
    notes.push_back(concat("its vocabulary has words", kAdvice));
  }
  return vocabulary;
}

void require_free(const Path& directory, bool overwrite, const std::vector<const char*>& names) {
  for (const char* name : names) {
    require(overwrite || !fs::exists(directory / name), "[", directory.string(), "] holds a model already (", name,
            "): use --overwrite or another --output");
  }
}

// Throws if a vocabulary that --overwrite keeps would be a second one.
void require_one_vocabulary(const Path& run, const Path& own) {
  if (!fs::exists(run)) return;
  for (const auto& entry : fs::directory_iterator(run)) {
    require(entry.path().stem() != "vocab" || entry.path().filename() == own, "[", run.string(), "] holds ",
            entry.path().filename().string(), ": expected no vocabulary except the model's; remove it");
  }
}

std::unique_ptr<EncoderOnly> make_model(const EncoderOnlyConfig& c) { return std::make_unique<EncoderOnly>(c); }
std::unique_ptr<SequenceClassifier> make_model(const ClassifierConfig& c) {
  return std::make_unique<SequenceClassifier>(c);
}

// Rejects a config.json with more layers than there are tensors, before any time or memory is spent on such a model.
void require_tensors_for_layers(const EncoderOnlyConfig& config, const std::vector<SafetensorsFile>& files,
                                const Path& directory) {
  int64_t tensors = 0;
  for (const SafetensorsFile& file : files) tensors += int64_t(file.entries().size());
  require(config.layers <= tensors, "[hugging face] ", directory.string(), ": expected tensors for the ", config.layers,
          " layers in config.json, got ", tensors, " tensors in all");
}

// Rejects a config.json whose model is far larger than the tensors in the files.
void require_proportion(const Parameters& parameters, const std::vector<SafetensorsFile>& files,
                        const Path& directory) {
  constexpr int64_t kMost = 100;  // a larger ratio means more than a missing tensor
  int64_t bytes = 0;
  for (const SafetensorsFile& file : files) {
    for (const auto& entry : file.entries()) bytes += int64_t(entry.end - entry.begin);
  }
  require(parameters.elements() <= kMost * bytes, "[hugging face] ", directory.string(), ": expected a model of the ",
          parameters.elements(), " parameters in config.json, got tensors of ", bytes, " bytes");
}

std::string describe_vocabulary(const Vocabulary* vocabulary) {
  return vocabulary == nullptr ? "no vocabulary" : concat("a vocabulary of ", vocabulary->size(), " pieces");
}

std::string dictionary_note(const Vocabulary* vocabulary) {
  if (vocabulary == nullptr || vocabulary->kind() != "wobert") return "";
  return "\nwithout the dictionary: RoFormerTokenizer cuts words with the dictionary of rjieba, and ids may differ";
}

template <class Model>
std::string write_model(const Path& directory, const Model& model, const Vocabulary* vocabulary, bool overwrite,
                        int trained_length) {
  const EncoderOnlyConfig& encoder = encoder_of(model.config());
  auto json = hugging_face_config(model.config(), vocabulary == nullptr ? 0 : vocabulary->pad());
  if (encoder.causal) {
    const bool is_unlimited = model.longest() == PositionEncoding::kUnlimited;
    if (trained_length > 0 && is_unlimited) json["max_position_embeddings"] = trained_length;
    using Json = nlohmann::ordered_json;
    json["bos_token_id"] = vocabulary == nullptr ? Json() : Json(vocabulary->bos());
    json["eos_token_id"] = vocabulary == nullptr ? Json() : Json(vocabulary->eos());
  }
  const auto* wordpiece = dynamic_cast<const WordPieceVocabulary*>(vocabulary);
  require(vocabulary == nullptr || wordpiece != nullptr || encoder.causal,
          "[hugging face] this model cannot be exported:\n  ",
          "vocabulary: expected kind wordpiece or wobert (vocab.txt), got ",
          vocabulary == nullptr ? "" : vocabulary->kind());
  require_free(directory, overwrite,
               {"config.json", kModelFile, kShardIndex, "vocab.txt", "tokenizer.json", "tokenizer_config.json",
                kGenerationConfigFile});
  fs::create_directories(directory);
  fs::remove(directory / kGenerationConfigFile);  // of another model
  if (encoder.causal && vocabulary != nullptr) {
    const auto generation = generation_config_of(vocabulary->bos(), vocabulary->eos(), vocabulary->pad());
    write_file(directory / kGenerationConfigFile, generation.dump(2) + "\n");
  }
  const auto* byte_bpe = dynamic_cast<const ByteBpeVocabulary*>(vocabulary);
  if (byte_bpe != nullptr) write_hugging_face_vocabulary(directory, *byte_bpe);
  if (wordpiece != nullptr)
    write_hugging_face_vocabulary(directory, *wordpiece, encoder.position.get<PositionTableOptions>().max_positions);
  const std::vector<NamedTensor> tensors = hugging_face_tensors(model.parameters(), encoder);
  write_safetensors(directory / kModelFile, tensors);
  write_file(directory / "config.json", json.dump(2) + "\n");
  return concat(directory.string(), ": ", json.at("architectures").at(0).template get<std::string>(), " of ",
                model.parameters().elements(), " parameters in ", tensors.size(), " tensors, ",
                describe_vocabulary(byte_bpe != nullptr ? vocabulary : wordpiece), dictionary_note(vocabulary));
}

}  // namespace

Parameters& HuggingFaceModel::parameters() const {
  return std::visit([](const auto& m) -> Parameters& { return m->parameters(); }, model);
}

bool is_hugging_face(const Path& directory) {
  const Path config = directory / "config.json";
  if (!fs::exists(config)) return false;
  const auto json = nlohmann::json::parse(read_file(config), nullptr, false);
  return json.is_object() && json.contains("architectures");
}

HuggingFaceModel read_hugging_face(const Path& directory, const TokenizerChoice& tokenizer) {
  require(fs::exists(directory / "config.json"), "[hugging face] ", directory.string(),
          ": expected a directory with config.json, found none");
  const HuggingFaceConfig config = read_hugging_face_config(directory / "config.json");
  const std::vector<SafetensorsFile> files = open_safetensors(weights_file(directory));
  HuggingFaceModel read;
  std::visit(
      [&](const auto& c) {
        require_tensors_for_layers(encoder_of(c), files, directory);
        auto model = make_model(c);
        require_proportion(model->parameters(), files, directory);
        model->parameters().allocate(0);  // the initial values are overwritten
        read.tensors = read_hugging_face_weights(files, model->parameters(), encoder_of(c));
        read.vocabulary = fitting_vocabulary(directory, tokenizer, encoder_of(c), read.notes);
        read.model = std::move(model);
        const Path generation = directory / kGenerationConfigFile;
        if (encoder_of(c).causal && fs::exists(generation))
          parse_generation_config(read_file(generation), generation.string() + ": ");  // checks it
      },
      config);
  return read;
}

std::string write_imported_run(const HuggingFaceModel& imported, const Path& from, const Path& path, bool overwrite) {
  const bool is_json = imported.vocabulary != nullptr && imported.vocabulary->kind() == "byte-bpe";
  const char* const vocabulary = is_json ? "vocab.json" : "vocab.txt";
  require_free(path, overwrite, {"config.json", "checkpoints"});
  require_one_vocabulary(path, vocabulary);
  const RunDirectory run(path);
  if (overwrite) run.remove_old_run();
  TensorFile weights{kModelFile, {}};
  for (const Parameter& p : imported.parameters()) weights.tensors.push_back(source_of({p.name, p.value}));
  const Path checkpoint = checkpoint_path(path, 0);
  write_directory(checkpoint, [&](const Path& directory) {
    write_manifest(directory, {{"gyre", kVersion}, {"imported", fs::absolute(from).lexically_normal().string()}},
                   {weights});
  });
  if (imported.vocabulary) imported.vocabulary->save(path / vocabulary);
  const auto config = std::visit([](const auto& m) { return m->config().to_json(); }, imported.model);
  const bool causal = std::visit([](const auto& m) { return encoder_of(m->config()).causal; }, imported.model);
  write_file(run.config(), config.dump(2) + "\n");
  fs::remove(path / kGenerationConfigFile);  // of another model
  if (causal && fs::exists(from / kGenerationConfigFile))
    write_file(path / kGenerationConfigFile, read_file(from / kGenerationConfigFile));
  run.mark_last(checkpoint);
  return concat(path.string(), ": ", causal ? "decoder-only" : config.at("model").get<std::string>(), " of ",
                imported.parameters().elements(), " parameters in ", weights.tensors.size(),
                " tensors, none newly initialized, ", describe_vocabulary(imported.vocabulary.get()));
}

std::string write_hugging_face(const Path& directory, const EncoderOnly& model, const Vocabulary* vocabulary,
                               bool overwrite, int trained_length) {
  return write_model(directory, model, vocabulary, overwrite, trained_length);
}

std::string write_hugging_face(const Path& directory, const SequenceClassifier& model, const Vocabulary* vocabulary,
                               bool overwrite) {
  return write_model(directory, model, vocabulary, overwrite, 0);
}

}  // namespace gyre
