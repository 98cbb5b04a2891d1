#include "gyre/train/pretrained/hugging_face.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/core/version.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/data/tokenizer/marian_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/models/hugging_face/config.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/models/hugging_face/marian.h"
#include "gyre/models/hugging_face/weights.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/checkpoint/run_directory.h"

namespace gyre {

namespace {

namespace fs = std::filesystem;

bool is_own_directory(const Path& path) { return fs::symlink_status(path).type() == fs::file_type::directory; }

void move_entries(const Path& from, const Path& to) {
  std::vector<Path> entries;
  for (const auto& entry : fs::directory_iterator(from)) entries.push_back(entry.path());
  for (const Path& entry : entries) {
    const Path target = to / entry.filename();
    if (is_own_directory(entry) && is_own_directory(target)) {
      move_entries(entry, target);
    } else {
      fs::rename(entry, target);
    }
  }
  flush_to_disk(to);
}

}  // namespace

void replace_files(const Path& directory, const std::function<void(const Path&)>& fill,
                   const std::function<void()>& remove_old) {
  const Path filled = directory / ".replacement.tmp";
  bool is_new = false;
  try {
    is_new = fs::create_directories(directory);
    fs::remove_all(filled);  // leftover of a call that was killed
    fs::create_directory(filled);
    fill(filled);
    remove_old();
    move_entries(filled, directory);
    fs::remove_all(filled);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(filled, ignored);
    if (is_new) fs::remove(directory, ignored);
    const auto* file_error = dynamic_cast<const fs::filesystem_error*>(&error);
    if (file_error != nullptr) throw Error("[file] ", file_error->path1().string(), ": ", file_error->code().message());
    throw;
  }
}

namespace {

namespace fs = std::filesystem;

Path weights_file(const Path& directory) {
  if (const auto file = find_safetensors(directory)) return *file;
  // The weights are one file, or shards such as pytorch_model-00001-of-00002.bin; other names are variants of them.
  // save_file refuses tensors that share memory, such as tied ones, so they are copied.
  constexpr const char* kConvert =
      "pytorch_model.bin only; PyTorch converts it, in that directory: python3 -c 'import glob, torch, "
      "safetensors.torch as s; "
      "t = [torch.load(f, weights_only=True) for f in "
      "glob.glob(\"pytorch_model.bin\") or glob.glob(\"pytorch_model-*-of-*.bin\")]; "
      "s.save_file({k: v.contiguous().clone() for d in t for k, v in d.items()}, \"model.safetensors\")'";
  const auto holds = [&](const char* name) { return fs::exists(directory / name); };
  throw Error("[hugging face] ", directory.string(), ": expected ", kModelFile, " or ", kShardIndex, ", found ",
              holds("pytorch_model.bin") || holds("pytorch_model.bin.index.json") ? kConvert : "neither");
}

// True if at least a tenth of the pieces are Chinese words, which WordPiece splits into characters.
bool has_chinese_words(const Vocabulary& vocabulary) {
  constexpr int kShare = 10;
  int words = 0;
  for (int id = 0; id < vocabulary.size(); ++id) {
    const auto characters = code_points(vocabulary.piece(id));
    const auto is_chinese = [](char32_t c) { return c >= 0x4E00 && c <= 0x9FFF; };
    if (characters.size() > 1 && std::ranges::all_of(characters, is_chinese)) ++words;
  }
  return words * kShare >= vocabulary.size();
}

// A kind of tokenizer that Gyre does not have is a note, and no reason to refuse the model.
std::shared_ptr<const Vocabulary> fitting_vocabulary(const Path& directory, const TokenizerChoice& tokenizer,
                                                     const EncoderOnlyConfig& encoder,
                                                     std::vector<std::string>& notes) {
  const int64_t model_size = encoder.vocab_size;
  std::shared_ptr<const Vocabulary> vocabulary;
  tokenizer.check();
  try {
    vocabulary = read_hugging_face_vocabulary(directory, tokenizer, model_size, notes);
    require(!vocabulary || vocabulary->size() == model_size, "[hugging face] ", directory.string(),
            ": expected at most as many vocabulary pieces as vocab_size in config.json, ", model_size, ", got ",
            vocabulary ? vocabulary->size() : 0);
  } catch (const Error& error) {
    if (tokenizer.kind != TokenizerKind::by_content) throw;  // the user asked for it
    notes.push_back(concat("the tokenizer is not imported, and the model has no vocabulary: ", error.what()));
    return nullptr;
  }
  if (!vocabulary) {
    notes.push_back(concat("no tokenizer.json, vocab.json with merges.txt, tokenizer.model or vocab.txt in ",
                           directory.string(), ": the model has no vocabulary"));
    return nullptr;
  }
  const auto has_piece = [&](int id) { return !vocabulary->piece(id).empty(); };
  if (!encoder.causal && !has_piece(vocabulary->size() - 1)) {
    int pieces = vocabulary->size() - 1;
    while (pieces > 0 && !has_piece(pieces - 1)) --pieces;
    notes.push_back(concat("the model has embeddings of ", model_size, " ids, its tokenizer ", pieces, " pieces"));
  }
  if (encoder.causal || vocabulary->kind() != "wordpiece") return vocabulary;
  if (!has_roformer_tokenizer(directory) && has_chinese_words(*vocabulary))
    notes.push_back(
        "its vocabulary has words, and WordPiece splits Chinese into characters; --tokenizer wobert --dictionary FILE "
        "finds words");
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

// Whether a run of an imported model has an entry of this name.
bool belongs_to_run(const std::string& name) {
  return name == "config.json" || name == "checkpoints" || name == kGenerationConfigFile || name == kChatTemplateFile ||
         name == lora_path({}).filename() || name.starts_with("vocab.");
}

std::unique_ptr<EncoderOnly> make_model(const EncoderOnlyConfig& c) { return std::make_unique<EncoderOnly>(c); }
std::unique_ptr<SequenceClassifier> make_model(const ClassifierConfig& c) {
  return std::make_unique<SequenceClassifier>(c);
}

int64_t layers_of(const EncoderOnlyConfig& c) { return c.layers; }
int64_t layers_of(const ClassifierConfig& c) { return c.encoder.layers; }
int64_t layers_of(const EncoderDecoderConfig& c) { return c.encoder_layers + c.decoder_layers; }

bool is_causal_config(const EncoderOnlyConfig& c) { return c.causal; }
bool is_causal_config(const ClassifierConfig&) { return false; }
bool is_causal_config(const EncoderDecoderConfig&) { return false; }

// Rejects a config.json with more layers than there are tensors, before any time or memory is spent on such a model.
void require_tensors_for_layers(int64_t layers, const std::vector<SafetensorsFile>& files, const Path& directory) {
  int64_t tensors = 0;
  for (const SafetensorsFile& file : files) tensors += int64_t(file.entries().size());
  require(layers <= tensors, "[hugging face] ", directory.string(), ": expected tensors for the ", layers,
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

std::string left_out_note(const Vocabulary* vocabulary) {
  if (vocabulary == nullptr || can_write_hugging_face(*vocabulary)) return "";
  return concat(", because transformers has none of kind ", vocabulary->kind());
}

std::string dictionary_note(const Vocabulary* vocabulary) {
  if (vocabulary == nullptr || vocabulary->kind() != "wobert") return "";
  return "\nwithout the dictionary: RoFormerTokenizer cuts words with the dictionary of rjieba, and ids may differ";
}

}  // namespace

bool belongs_to_model(const std::string& name) {
  constexpr std::string_view kNames[] = {"config.json",
                                         "adapter_config.json",
                                         "adapter_model.bin",
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
                                         "source.spm",
                                         "target.spm",
                                         "target_vocab.json",
                                         "sentencepiece.bpe.model",
                                         "chat_template.jinja",
                                         "chat_template.json",
                                         "tf_model.h5",
                                         "flax_model.msgpack"};
  return std::ranges::find(kNames, name) != std::end(kNames) || name.ends_with(".safetensors") ||
         name.ends_with(".safetensors.index.json") || name.starts_with("pytorch_model");
}

void require_free_for_model(const Path& directory, bool overwrite, bool (*belongs)(const std::string& name)) {
  const bool is_run = fs::exists(directory / "config.json") && fs::exists(checkpoints_path(directory));
  require(!is_run, "[", directory.string(), "] holds a run of Gyre: use another --output");
  require_free(directory, overwrite, belongs);
}

void remove_model(const Path& directory, bool (*belongs)(const std::string& name)) {
  for (const std::string& name : files_of_model(directory, belongs)) fs::remove(directory / name);
}

namespace {

Json config_of(const EncoderOnlyConfig& config, int pad, const ExportOptions&) {
  return hugging_face_config(config, pad);
}
Json config_of(const ClassifierConfig& config, int pad, const ExportOptions& options) {
  return hugging_face_config(config, pad, options.classes);
}

void write_model_files(const Path& into, const Json& config, const std::vector<NamedTensor>& tensors,
                       const ExportOptions& options) {
  write_safetensors(into / kModelFile, tensors);
  write_file(into / "config.json", json_text(config, 2) + "\n");
  if (options.complete) options.complete(into);
}

// The last piece is the padding, which the export adds unless it begins translations here too.
MarianIds marian_ids_of(const Vocabulary& vocabulary) {
  const Vocabulary& target = vocabulary.side(1);
  const bool has_padding = target.pad() >= 0 && target.pad() == target.bos();
  return {target.unk(), target.bos(), target.eos(), has_padding ? target.pad() : target.size()};
}

// Reads a MarianMTModel and its vocabulary.
void read_translation_model(const Path& directory, EncoderDecoderConfig config,
                            const std::vector<SafetensorsFile>& files, HuggingFaceModel& read) {
  const Path file = directory / "config.json";
  const std::string context = concat("[hugging face] ", file.string(), ": ");
  const MarianIds ids = read_marian_ids(read_json(file), context);
  require(ids.bos < config.vocab_size, context, "decoder_start_token_id: expected an id below ", config.vocab_size,
          ", got ", ids.bos);
  find_marian_positions(files, config);
  auto model = std::make_unique<EncoderDecoder>(config);
  require_proportion(model->parameters(), files, directory);
  model->parameters().allocate(0);  // all values are overwritten, except a bias that the files lack, which is 0
  read.tensors = read_marian_weights(files, model->parameters(), config, ids.bos);
  read.model = std::move(model);
  read.vocabulary = read_marian_vocabulary(directory, config.vocab_size);
  if (!read.vocabulary) {
    read.notes.push_back(
        concat("no source.spm, target.spm and vocab.json in ", directory.string(), ": the model has no vocabulary"));
    return;
  }
  require(ids.bos == read.vocabulary->bos() && ids.eos == read.vocabulary->eos(), context,
          "decoder_start_token_id, eos_token_id: expected the ids of the padding and of the end in vocab.json, ",
          read.vocabulary->bos(), " and ", read.vocabulary->eos(), ", got ", ids.bos, " and ", ids.eos);
}

template <class Model>
std::string write_model(const Path& directory, const Model& model, const Vocabulary* vocabulary,
                        const ExportOptions& options) {
  const EncoderOnlyConfig& encoder = encoder_of(model.config());
  auto json = config_of(model.config(), vocabulary == nullptr ? 0 : vocabulary->pad(), options);
  if (encoder.causal) {
    const bool is_unlimited = model.longest() == PositionEncoding::kUnlimited;
    if (options.trained_length > 0 && is_unlimited) json["max_position_embeddings"] = options.trained_length;
    const bool has_ends = vocabulary != nullptr && vocabulary->has_ends();
    json["bos_token_id"] = has_ends && names_bos(*vocabulary) ? Json(vocabulary->bos()) : Json();
    json["eos_token_id"] = has_ends ? Json(vocabulary->eos()) : Json();
  }
  require(vocabulary == nullptr || encoder.causal || can_write_hugging_face(*vocabulary),
          "[hugging face] this model cannot be exported:\n  ",
          "vocabulary: expected a kind that transformers has, such as wordpiece, got ",
          vocabulary == nullptr ? "" : vocabulary->kind());
  require_free_for_model(directory, options.overwrite, belongs_to_model);
  const int64_t longest = !encoder.causal ? encoder.position.get<PositionTableOptions>().max_positions
                          : model.longest() != PositionEncoding::kUnlimited ? model.longest()
                                                                            : options.trained_length;
  const bool has_tokenizer = vocabulary != nullptr && can_write_hugging_face(*vocabulary);
  const std::vector<NamedTensor> tensors = hugging_face_tensors(model.parameters(), encoder);
  const auto write = [&](const Path& into) {
    if (encoder.causal && vocabulary != nullptr && vocabulary->has_ends()) {
      auto generation = generation_config_of(vocabulary->bos(), vocabulary->eos(), vocabulary->pad());
      if (!names_bos(*vocabulary)) generation.erase("bos_token_id");
      write_file(into / kGenerationConfigFile, generation.dump(2) + "\n");
    }
    if (has_tokenizer) write_hugging_face_vocabulary(into, *vocabulary, longest, options.chat_template);
    write_model_files(into, json, tensors, options);
  };
  replace_files(directory, write, [&] { remove_model(directory, belongs_to_model); });
  return concat(directory.string(), ": ", json.at("architectures").at(0).template get<std::string>(), " of ",
                model.parameters().elements(), " parameters in ", tensors.size(), " tensors, ",
                describe_vocabulary(has_tokenizer ? vocabulary : nullptr), left_out_note(vocabulary),
                dictionary_note(vocabulary));
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
        require_tensors_for_layers(layers_of(c), files, directory);
        if constexpr (std::is_same_v<std::decay_t<decltype(c)>, EncoderDecoderConfig>) {
          tokenizer.check();
          if (tokenizer.kind != TokenizerKind::by_content)
            throw UsageError("--tokenizer would have no effect: a MarianMTModel has source.spm and target.spm");
          read_translation_model(directory, c, files, read);
        } else {
          auto model = make_model(c);
          require_proportion(model->parameters(), files, directory);
          model->parameters().allocate(0);  // all values are overwritten, except those of a head that the files lack
          read.tensors = read_hugging_face_weights(files, model->parameters(), encoder_of(c));
          read.vocabulary = fitting_vocabulary(directory, tokenizer, encoder_of(c), read.notes);
          read.model = std::move(model);
        }
        if constexpr (std::is_same_v<std::decay_t<decltype(c)>, ClassifierConfig>)
          read.task = imported_task(read_class_names(directory / "config.json", c.classes));
        const Path generation = directory / kGenerationConfigFile;
        if (is_causal_config(c) && fs::exists(generation))
          parse_generation_config(read_file(generation), generation.string() + ": ");  // checks it
      },
      config);
  return read;
}

void write_run_of_weights(const Path& path, const RunOfWeights& content, bool overwrite) {
  require_free(path, overwrite, belongs_to_run);
  TensorFile weights{kModelFile, {}};
  for (const Parameter& p : content.weights) weights.tensors.push_back(source_of({p.name, p.value}));
  const auto write = [&](const Path& into) {
    const Path checkpoint = checkpoint_path(into, 0);
    write_directory(checkpoint, [&](const Path& directory) { write_manifest(directory, content.state, {weights}); });
    point_link(into, "last", checkpoint);
    write_file(config_path(into), json_text(content.config, 2) + "\n");
    content.complete(into);
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
}

void copy_model_files(const Path& run, const Path& into) {
  for (const std::string& name : files_of_model(run, belongs_to_run))
    if (fs::is_regular_file(run / name) && name != "config.json" && name != lora_path(run).filename())
      write_file(into / name, read_file(run / name));
}

std::string write_imported_run(const HuggingFaceModel& imported, const Path& from, const Path& path, bool overwrite) {
  const auto config = std::visit([](const auto& m) { return m->config().to_json(); }, imported.model);
  const bool causal = std::visit([](const auto& m) { return is_causal_config(m->config()); }, imported.model);
  const bool generates = causal || std::holds_alternative<std::unique_ptr<EncoderDecoder>>(imported.model);
  Json state{{"gyre", kVersion}, {"imported", fs::absolute(from).lexically_normal().string()}};
  if (!imported.tensors.initialized.empty()) state["initialized"] = imported.tensors.initialized;
  const auto complete = [&](const Path& into) {
    if (imported.vocabulary) imported.vocabulary->save(into / hugging_face_copy_name(*imported.vocabulary));
    if (imported.task) write_file(task_path(into), json_text(imported.task->to_json(), 2) + "\n");
    if (generates && fs::exists(from / kGenerationConfigFile))
      write_file(into / kGenerationConfigFile, read_file(from / kGenerationConfigFile));
  };
  write_run_of_weights(path, {imported.parameters(), config, state, complete}, overwrite);
  const size_t initialized = imported.tensors.initialized.size();
  return concat(path.string(), ": ", causal ? "decoder-only" : config.at("model").get<std::string>(), " of ",
                imported.parameters().elements(), " parameters in ", imported.parameters().count(), " tensors, ",
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

std::string write_hugging_face(const Path& directory, const EncoderDecoder& model, const Vocabulary* vocabulary,
                               const ExportOptions& options) {
  const EncoderDecoderConfig& config = model.config();
  require(vocabulary != nullptr, "[hugging face] this model cannot be exported: it has no vocabulary");
  const MarianIds ids = marian_ids_of(*vocabulary);
  const Json json = marian_config(config, ids);
  require_free_for_model(directory, options.overwrite, belongs_to_model);
  const std::vector<NamedTensor> tensors = marian_tensors(model.parameters(), config, ids);
  const bool has_tokenizer = can_write_marian(*vocabulary);
  const auto write = [&](const Path& into) {
    write_file(into / kGenerationConfigFile, json_text(marian_generation_config(config, ids), 2) + "\n");
    if (has_tokenizer)
      write_marian_vocabulary(into, *vocabulary, ids.pad, config.position.get<PositionTableOptions>().max_positions);
    write_model_files(into, json, tensors, options);
  };
  replace_files(directory, write, [&] { remove_model(directory, belongs_to_model); });
  return concat(directory.string(), ": ", kMarianArchitecture, " of ", model.parameters().elements(), " parameters in ",
                tensors.size(), " tensors, ", describe_vocabulary(has_tokenizer ? vocabulary : nullptr),
                has_tokenizer ? "" : concat(", because MarianTokenizer reads none of kind ", vocabulary->kind()));
}

}  // namespace gyre
