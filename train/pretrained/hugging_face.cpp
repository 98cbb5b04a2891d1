#include "gyre/train/pretrained/hugging_face.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors_shards.h"
#include "gyre/core/io/strict_json.h"
#include "gyre/core/version.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/models/hugging_face/config.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/models/hugging_face/weights.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/checkpoint/manifest.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/pretrained/replace_files.h"

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

// The names of the files in a directory that belong to a model, config.json first.
std::vector<std::string> files_of_model(const Path& directory, bool (*belongs)(const std::string& name)) {
  std::vector<std::string> names;
  if (!fs::is_directory(directory)) return names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (belongs(name) && (!entry.is_directory() || name == "checkpoints")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "config.json"; });
  return names;
}

void require_free(const Path& directory, bool overwrite, bool (*belongs)(const std::string& name)) {
  const std::vector<std::string> names = files_of_model(directory, belongs);
  require(overwrite || names.empty(), "[", directory.string(), "] holds a model already (",
          names.empty() ? "" : names.front(), "): use --overwrite or another --output");
}

// Whether transformers reads a file of this name as a part of a model, or shows it as its card.
bool belongs_to_model(const std::string& name) {
  constexpr std::string_view kNames[] = {"config.json",
                                         kGenerationConfigFile,
                                         "README.md",
                                         "vocab.txt",
                                         "vocab.json",
                                         "merges.txt",
                                         "tokenizer.json",
                                         "tokenizer.model",
                                         "tokenizer_config.json",
                                         "special_tokens_map.json",
                                         "added_tokens.json",
                                         "spiece.model",
                                         "sentencepiece.bpe.model",
                                         "chat_template.jinja",
                                         "chat_template.json",
                                         "tf_model.h5",
                                         "flax_model.msgpack"};
  return std::ranges::find(kNames, name) != std::end(kNames) || name.ends_with(".safetensors") ||
         name.ends_with(".safetensors.index.json") || name.starts_with("pytorch_model");
}

// Whether a run of an imported model has an entry of this name.
bool belongs_to_run(const std::string& name) {
  return name == "config.json" || name == "checkpoints" || name == kGenerationConfigFile || name.starts_with("vocab.");
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

nlohmann::ordered_json config_of(const EncoderOnlyConfig& config, int pad, const ExportOptions&) {
  return hugging_face_config(config, pad);
}
nlohmann::ordered_json config_of(const ClassifierConfig& config, int pad, const ExportOptions& options) {
  return hugging_face_config(config, pad, options.classes);
}

template <class Model>
std::string write_model(const Path& directory, const Model& model, const Vocabulary* vocabulary,
                        const ExportOptions& options) {
  const EncoderOnlyConfig& encoder = encoder_of(model.config());
  auto json = config_of(model.config(), vocabulary == nullptr ? 0 : vocabulary->pad(), options);
  if (encoder.causal) {
    const bool is_unlimited = model.longest() == PositionEncoding::kUnlimited;
    if (options.trained_length > 0 && is_unlimited) json["max_position_embeddings"] = options.trained_length;
    using Json = nlohmann::ordered_json;
    json["bos_token_id"] = vocabulary == nullptr ? Json() : Json(vocabulary->bos());
    json["eos_token_id"] = vocabulary == nullptr ? Json() : Json(vocabulary->eos());
  }
  const auto* wordpiece = dynamic_cast<const WordPieceVocabulary*>(vocabulary);
  require(vocabulary == nullptr || wordpiece != nullptr || encoder.causal,
          "[hugging face] this model cannot be exported:\n  ",
          "vocabulary: expected kind wordpiece or wobert (vocab.txt), got ",
          vocabulary == nullptr ? "" : vocabulary->kind());
  const bool is_run = fs::exists(directory / "config.json") && fs::exists(checkpoints_path(directory));
  require(!is_run, "[", directory.string(), "] holds a run of Gyre: use another --output");
  require_free(directory, options.overwrite, belongs_to_model);
  const auto* byte_bpe = dynamic_cast<const ByteBpeVocabulary*>(vocabulary);
  const std::vector<NamedTensor> tensors = hugging_face_tensors(model.parameters(), encoder);
  const auto write = [&](const Path& into) {
    if (encoder.causal && vocabulary != nullptr) {
      const auto generation = generation_config_of(vocabulary->bos(), vocabulary->eos(), vocabulary->pad());
      write_file(into / kGenerationConfigFile, generation.dump(2) + "\n");
    }
    if (byte_bpe != nullptr) write_hugging_face_vocabulary(into, *byte_bpe);
    if (wordpiece != nullptr)
      write_hugging_face_vocabulary(into, *wordpiece, encoder.position.get<PositionTableOptions>().max_positions);
    write_safetensors(into / kModelFile, tensors);
    write_file(into / "config.json", json_text(json, 2) + "\n");
    if (options.complete) options.complete(into);
  };
  replace_files(directory, write, [&] {
    for (const std::string& name : files_of_model(directory, belongs_to_model)) fs::remove(directory / name);
  });
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
  const auto json = find_json(read_file(config));
  return json && json->is_object() && json->contains("architectures");
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
        model->parameters().allocate(0);  // all values are overwritten, except those of a head that the files lack
        read.tensors = read_hugging_face_weights(files, model->parameters(), encoder_of(c));
        read.vocabulary = fitting_vocabulary(directory, tokenizer, encoder_of(c), read.notes);
        if constexpr (std::is_same_v<std::decay_t<decltype(c)>, ClassifierConfig>)
          read.task = imported_task(read_class_names(directory / "config.json", c.classes));
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
  require_free(path, overwrite, belongs_to_run);
  const auto config = std::visit([](const auto& m) { return m->config().to_json(); }, imported.model);
  const bool causal = std::visit([](const auto& m) { return encoder_of(m->config()).causal; }, imported.model);
  TensorFile weights{kModelFile, {}};
  for (const Parameter& p : imported.parameters()) weights.tensors.push_back(source_of({p.name, p.value}));
  const auto write = [&](const Path& into) {
    nlohmann::ordered_json state{{"gyre", kVersion}, {"imported", fs::absolute(from).lexically_normal().string()}};
    if (!imported.tensors.initialized.empty()) state["initialized"] = imported.tensors.initialized;
    const Path checkpoint = checkpoint_path(into, 0);
    write_directory(checkpoint, [&](const Path& directory) { write_manifest(directory, state, {weights}); });
    point_link(into, "last", checkpoint);
    if (imported.vocabulary) imported.vocabulary->save(into / (is_json ? "vocab.json" : "vocab.txt"));
    write_file(config_path(into), config.dump(2) + "\n");
    if (imported.task) write_file(task_path(into), json_text(imported.task->to_json(), 2) + "\n");
    if (causal && fs::exists(from / kGenerationConfigFile))
      write_file(into / kGenerationConfigFile, read_file(from / kGenerationConfigFile));
  };
  const RunDirectory run(path);
  try {
    replace_files(path, write, [&] {
      run.remove_old_run();
      for (const std::string& name : files_of_model(path, belongs_to_run))
        if (name != "checkpoints") fs::remove(path / name);
      fs::remove(run.log());
    });
  } catch (...) {
    run.abandon();
    throw;
  }
  const size_t initialized = imported.tensors.initialized.size();
  return concat(path.string(), ": ", causal ? "decoder-only" : config.at("model").get<std::string>(), " of ",
                imported.parameters().elements(), " parameters in ", weights.tensors.size(), " tensors, ",
                initialized == 0 ? "none" : std::to_string(initialized), " newly initialized, ",
                describe_vocabulary(imported.vocabulary.get()));
}

std::string write_hugging_face(const Path& directory, const EncoderOnly& model, const Vocabulary* vocabulary,
                               const ExportOptions& options) {
  return write_model(directory, model, vocabulary, options);
}

std::string write_hugging_face(const Path& directory, const SequenceClassifier& model, const Vocabulary* vocabulary,
                               const ExportOptions& options) {
  return write_model(directory, model, vocabulary, options);
}

}  // namespace gyre
