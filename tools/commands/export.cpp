// gyre export: writes a trained model in the format of another program, with its model card.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/version.h"
#include "gyre/data/chat/chat_template.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/data/tokenizer/marian_vocabulary.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/models/hugging_face/marian.h"
#include "gyre/train/checkpoint/lora_record.h"
#include "gyre/train/checkpoint/progress.h"
#include "gyre/train/checkpoint/run_options.h"
#include "gyre/train/log/console.h"
#include "gyre/train/pretrained/ctranslate2.h"
#include "gyre/train/pretrained/gguf.h"
#include "gyre/train/pretrained/hugging_face.h"
#include "gyre/train/pretrained/peft.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/resume.h"
#include "gyre/train/tasks/matching/match_objective.h"
#include "tools/command_line/config_file.h"
#include "tools/command_line/messages.h"
#include "tools/options/model_choice.h"
#include "tools/page/page.h"
#include "tools/program.h"

namespace gyre {
namespace {

// ---- The model card ------------------------------------------------------------------------------------------------
// The model card of an exported model: a README.md as the Hugging Face Hub reads it
// (https://huggingface.co/docs/hub/model-cards). It states only facts that the run recorded, and file names without
// their directories.

// Facts that no run records. Empty: left out.
struct CardOptions {
  std::string title;              // default: the name of the run's directory
  std::string language, license;  // identifiers of the hub: "en", "mit"

  void validate() const;  // throws a UsageError for text that is not one line of UTF-8
};

// The model as it was exported.
struct CardModel {
  Path path;                               // path that the command was given: a run, a checkpoint or its weights
  std::string checkpoint;                  // checkpoint of a run (train/checkpoint/model_file.h)
  Path config;                             // config.json of transformers
  std::string description;                 // text about the architecture, from Gyre's config.json
  int64_t parameters = 0;                  // number of elements
  const Vocabulary* vocabulary = nullptr;  // nullptr: none
};

// The records of a run. Those that do not exist are empty, as for an imported model.
struct Records {
  Path run;
  ConfigFile options;  // run/train.toml
  std::optional<TrainState> state;
  Json checkpoint = Json::object();  // state.json of the weights
  Json task;                         // run/task.json
  Json exported;                     // config.json of transformers

  std::vector<std::string> values(const std::string& name) const { return values_in(options.entries, name); }
  static std::vector<std::string> values_in(const std::vector<ConfigEntry>& entries, const std::string& name) {
    const auto named = [&](const ConfigEntry& entry) { return entry.name == name; };
    const auto found = std::find_if(entries.begin(), entries.end(), named);
    return found == entries.end() ? std::vector<std::string>() : found->values;
  }
  // The values in each stage, or those of the run where a stage gives none; without stages, those of the run.
  std::vector<std::vector<std::string>> stage_values(const std::string& name) const {
    std::vector<std::vector<std::string>> all;
    for (const ConfigTable& stage : options.tables) {
      all.push_back(values_in(stage.entries, name));
      if (all.back().empty()) all.back() = values(name);
    }
    if (all.empty()) all.push_back(values(name));
    return all;
  }
  std::string option(const std::string& name) const {
    const std::vector<std::string> all = values(name);
    return all.size() == 1 ? all.front() : "";
  }
  std::string architecture() const { return exported.at("architectures").at(0); }
  bool is_classifier() const { return exported.contains("id2label"); }
  bool translates() const { return architecture() == kMarianArchitecture; }
  bool is_causal() const {
    return !is_classifier() && !translates() && architecture().find("MaskedLM") == std::string::npos;
  }
  // The positions of the model; nothing for decoders with RoPE, which have no table of positions.
  std::optional<int64_t> longest() const {
    if (exported.contains("n_positions")) return exported["n_positions"].get<int64_t>();
    if (is_causal()) return std::nullopt;
    return exported.at("max_position_embeddings").get<int64_t>();
  }
  bool is_match() const { return task.is_object() && task.contains("task"); }
  bool reads_pairs() const {
    return is_match() || (task.is_object() && task.contains("second_text") && !task["second_text"].is_null());
  }
};

// Removes the stages that begin after the finished updates.
void remove_later_stages(std::vector<ConfigTable>& stages, uint64_t finished) {
  uint64_t begin = 0;
  size_t begun = 0;
  while (begun < stages.size() && (begun == 0 || begin < finished)) {
    const std::vector<std::string> updates = Records::values_in(stages[begun++].entries, "updates");
    if (updates.size() == 1) begin += Period::parse(updates.front()).amount;
  }
  stages.resize(begun);
}

Records read_records(const CardModel& model) {
  Records records;
  records.run = find_run(model.path);
  records.state = find_train_state(model.path, model.checkpoint);
  const Path toml = records.run / "train.toml", task = task_path(records.run);
  const Path checkpoint = find_model_file(model.path, model.checkpoint).parent_path();
  if (std::filesystem::exists(toml)) records.options = read_config_file(toml);
  if (records.state) remove_later_stages(records.options.tables, records.state->progress.updates);
  if (std::filesystem::exists(task)) records.task = read_json(task);
  if (std::filesystem::exists(state_path(checkpoint))) records.checkpoint = read_manifest(checkpoint);
  records.exported = read_json(model.config);
  return records;
}

// The text as code, also if it contains backticks.
std::string code(const std::string& text) {
  const std::string line = printable_line(text);
  std::string fence = "`";
  while (line.find(fence) != std::string::npos) fence += '`';
  const std::string space = fence.size() > 1 ? " " : "";
  return concat(fence, space, line, space, fence);
}

// The text with the characters escaped that have a meaning in Markdown or in HTML.
std::string markdown(const std::string& text) {
  std::string escaped;
  for (const char c : printable_line(text)) {
    if (std::string_view("\\`*[]<>|&").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The last part of a path: directories may reveal names of users and machines.
std::string file_name(const std::string& path) {
  const Path whole = Path(path).lexically_normal();
  return (whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string();
}

std::string code_list(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : ", ") + code(file_name(path));
  return text;
}

// A JSON string is also a YAML string. Without quotes, the language "no" would be a boolean.
std::string yaml(const std::string& text) {
  return text.empty() ? "" : Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The contents of a token store, if it still is the one of the run.
Json store_facts(const std::vector<std::string>& files, const TrainState& state) {
  const std::string* recorded = state.options.find("training data");
  if (files.size() != 1 || recorded == nullptr) return {};
  const Path file = files.front();
  if (!TokenStore::recognizes(file)) return {};
  const TokenStore store(file);
  if (hexadecimal(store.checksum()) != *recorded || store.sides() != 1) return {};
  return {{"bytes", with_commas(int64_t(std::filesystem::file_size(file)))},
          {"documents", with_commas(int64_t(count_documents(store)))},
          {"tokens", with_commas(int64_t(store.total_tokens(0)))}};
}

// The files of all stages, each once.
std::vector<std::string> training_files(const Records& records) {
  std::vector<std::string> files;
  for (const std::vector<std::string>& stage : records.stage_values("train-sets"))
    for (const std::string& file : stage)
      if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  return files;
}

Json data_facts(const Records& records) {
  const std::vector<std::string> training = training_files(records);
  if (!records.state || training.empty()) return {};
  const std::string share = records.option("valid-share"), vocabulary = records.option("vocab");
  Json classes = Json::array();
  if (records.task.is_object()) {
    for (const std::string name : records.task.value("classes", Json::array()))
      classes.push_back({{"number", std::to_string(classes.size())}, {"name", code(name)}});
  }
  return {{"files", code_list(training)},
          {"store", store_facts(training, *records.state)},
          {"validation_files", code_list(records.values("valid-sets"))},
          {"share", share == "0" ? "" : share},
          {"vocabulary_file", vocabulary.empty() ? "" : code(file_name(vocabulary))},
          {"classes", classes}};
}

Json option_facts(const Records& records) {
  Json options = Json::array();
  const RunOptions recorded = without_later_stages(records.state->options, records.state->progress.updates);
  for (const OptionTexts* texts : {&recorded.of_data, &recorded.of_bits})
    for (const auto& [name, value] : *texts) {
      const bool is_checksum = name.ends_with("training data") || name == "vocabulary" || name == kBaseOption;
      if (is_checksum || value.empty()) continue;
      options.push_back(
          {{"name", name}, {"value", markdown(value.find('/') == std::string::npos ? value : file_name(value))}});
    }
  for (const char* name : {"transformer-dropout", "transformer-dropout-attention", "transformer-dropout-ffn"}) {
    const std::string value = records.option(name);
    if (!value.empty()) options.push_back({{"name", name}, {"value", markdown(value)}});
  }
  return options;
}

Json training_facts(const Records& records) {
  if (!records.state) return {};
  const TrainState& state = *records.state;
  const Progress& progress = state.progress;
  const auto averaged = records.checkpoint.find("averaged");
  Json metrics = Json::array();
  for (const auto& [name, best] : state.best) {
    metrics.push_back({{"name", markdown(name)},
                       {"value", fmt::format("{:.4f}", best.value)},
                       {"update", with_commas(int64_t(best.updates))}});
  }
  return {{"updates", with_commas(int64_t(progress.updates))},
          {"samples", with_commas(int64_t(progress.sentences))},
          {"tokens", with_commas(int64_t(progress.source_tokens + progress.target_tokens))},
          {"duration", format_duration(state.seconds)},
          {"ranks", counted(state.ranks, "rank")},
          {"mean_of", averaged == records.checkpoint.end() ? "" : counted(averaged->size(), "checkpoint")},
          {"moving_average", state.has_average},
          {"options", option_facts(records)},
          {"validation", metrics.empty() ? Json() : Json{{"metrics", metrics}}}};
}

// The class of transformers that loads the model; empty if a pipeline with its tokenizer does.
std::string loader(const Records& records, const CardModel& model) {
  if (records.translates()) return kMarianArchitecture;
  if (model.vocabulary != nullptr && can_write_hugging_face(*model.vocabulary)) return "";
  if (records.is_classifier()) return "AutoModelForSequenceClassification";
  return records.is_causal() ? "AutoModelForCausalLM" : "AutoModelForMaskedLM";
}

void CardOptions::validate() const {
  for (const auto& [flag, text] : {std::pair("--title", title), {"--language", language}, {"--license", license}}) {
    expect(text.find_first_of("\n\r") == std::string::npos, flag, "one line", "several");
    expect(!first_invalid_utf8(text), flag, "UTF-8", "other bytes");
  }
}

// Returns the text of the card.
std::string model_card(const CardModel& model, const CardOptions& options) {
  const Records records = read_records(model);
  const Json& exported = records.exported;
  const std::string pretrained = records.option("pretrained-model");
  const auto imported = records.checkpoint.find("imported");
  const auto longest = records.longest();
  const std::optional<int> sample = longest_sample(model.path, model.checkpoint);
  Json vocabulary;
  if (model.vocabulary != nullptr) {
    vocabulary = {{"size", with_commas(model.vocabulary->size())},
                  {"kind", model.vocabulary->kind()},
                  {"exported", records.translates() ? can_write_marian(*model.vocabulary)
                                                    : can_write_hugging_face(*model.vocabulary)}};
  }
  return fill_template(
      page_asset("model_card.md"),
      {{"language", yaml(options.language)},
       {"license", yaml(options.license)},
       {"model_type", exported.at("model_type")},
       {"title", markdown(options.title.empty() ? file_name(records.run.string()) : options.title)},
       {"architecture", code(records.architecture())},
       {"generates", records.is_causal()},
       {"fills", !records.is_causal() && !records.is_classifier() && !records.translates()},
       {"translates", records.translates()},
       {"translates_text", records.translates() && model.vocabulary != nullptr && can_write_marian(*model.vocabulary)},
       {"classifies", records.is_classifier()},
       {"scores", records.is_classifier() && exported["id2label"].size() == 1},
       {"pairs", records.reads_pairs()},
       {"trained_by", records.state ? records.state->version : ""},
       {"imported", imported == records.checkpoint.end() ? "" : code(file_name(*imported))},
       {"exporter", kVersion},
       {"pretrained",
        pretrained.empty() || records.option("from-scratch") == "true" ? "" : code(file_name(pretrained))},
       {"description", model.description},
       {"parameters", with_commas(model.parameters)},
       {"longest", longest ? std::to_string(*longest) : ""},
       {"vocabulary", vocabulary},
       {"data", data_facts(records)},
       {"training", training_facts(records)},
       {"loader", loader(records, model)},
       {"needs_rjieba", model.vocabulary != nullptr && model.vocabulary->kind() == "wobert"},
       {"is_nezha", exported.at("model_type") == "nezha"},
       {"trained_length", sample ? std::to_string(*sample) : ""}});
}

// ---- gyre export: writes a trained model in the format of another program ------------------------------------------

// The ids that end a text by generation_config.json in the directory; empty without the file.
std::vector<int32_t> ends_of_texts(const Path& directory) {
  const Path file = directory / kGenerationConfigFile;
  if (!std::filesystem::exists(file)) return {};
  return parse_generation_config(read_file(file), file.string() + ": ").eos;
}

// These ids, and before them the one that ends an answer by the chat template of the run, which need not end a text.
std::vector<int32_t> with_end_of_answer(std::vector<int32_t> ends, const Path& run, const Vocabulary& vocabulary) {
  const Path chat = run / kChatTemplateFile;
  if (!std::filesystem::exists(chat)) return ends;
  const auto end = ChatTemplate(kChatTemplate, read_file(chat), vocabulary).end_of_answer().id;
  if (end && std::ranges::find(ends, *end) == ends.end()) ends.insert(ends.begin(), *end);
  return ends;
}

// Lets transformers end a text with the token behind an answer.
void add_end_of_answer(const Path& directory, const Path& run, const Vocabulary& vocabulary) {
  const Path file = directory / kGenerationConfigFile;
  if (!std::filesystem::exists(file)) return;
  const auto before = ends_of_texts(directory), ends = with_end_of_answer(before, run, vocabulary);
  if (ends == before) return;
  Json config = read_json(file);
  config["eos_token_id"] = ends;
  write_file(file, config.dump(2) + "\n");
}

struct ExportArgs {
  Path model, output;
  std::string to, checkpoint;
  GgufType outtype = GgufType::f16;
  CardOptions card;
  bool overwrite = false;
  const OptionTable* table = nullptr;
};

// The names of the classes of a classifier; none if the run records none, as a run of gyre train match.
std::vector<std::string> classes_of(const Path& run) {
  if (!std::filesystem::exists(task_path(run)) || is_match_task(run)) return {};
  return read_task(run).format.classes;
}

std::string description_of(const EncoderDecoderConfig& config) { return config.describe(); }
template <class Config>
std::string description_of(const Config& config) {
  return encoder_of(config).describe();
}

template <class Model>
void export_as(const ExportArgs& args, const Path& run) {
  const auto model = load_model<Model>(args.model, args.checkpoint, {});
  print_model_choice(args.model, args.checkpoint);
  std::shared_ptr<const Vocabulary> vocabulary;
  if (has_vocabulary(run)) vocabulary = load_run_vocabulary(run, {}, vocabulary_sizes(model->config()));
  ExportOptions options{.overwrite = args.overwrite, .classes = classes_of(run)};
  // Imported models have no training length.
  options.trained_length = longest_sample(args.model, args.checkpoint).value_or(0);
  if (const Path chat = run / kChatTemplateFile; std::filesystem::exists(chat)) options.chat_template = read_file(chat);
  options.complete = [&](const Path& directory) {
    const Path generation = run / kGenerationConfigFile;  // an imported model keeps its own
    if (std::filesystem::exists(generation)) write_file(directory / kGenerationConfigFile, read_file(generation));
    if (vocabulary) add_end_of_answer(directory, run, *vocabulary);
    write_file(directory / "README.md", model_card({.path = args.model,
                                                    .checkpoint = args.checkpoint,
                                                    .config = directory / "config.json",
                                                    .description = description_of(model->config()),
                                                    .parameters = model->parameters().elements(),
                                                    .vocabulary = vocabulary.get()},
                                                   args.card));
  };
  print_message(concat("made ", write_hugging_face(args.output, *model, vocabulary.get(), options)));
}

int export_to_llama_cpp(const ExportArgs& args, const Path& run) {
  require(model_kind(run) == EncoderOnlyConfig::kModel && read_config<EncoderOnlyConfig>(run).causal, "[--model] ",
          run.string(), ": expected a decoder, which llama.cpp can run, got ",
          model_kind(run) == EncoderDecoderConfig::kModel ? "a translation model" : "an encoder", ": use --to hf");
  require(has_vocabulary(run), "[--model] ", run.string(), ": expected a model with a vocabulary, found none");
  require(args.overwrite || !std::filesystem::exists(args.output), "[--output] ", args.output.string(),
          " already exists: use --overwrite");
  const auto model = load_model<EncoderOnly>(args.model, args.checkpoint, {});
  print_model_choice(args.model, args.checkpoint);
  const auto vocabulary = load_run_vocabulary(run, {}, vocabulary_sizes(model->config()));
  GgufOptions options{.type = args.outtype,
                      .chat_template = find_chat_template(run, *vocabulary),
                      .ends = with_end_of_answer(ends_of_texts(run), run, *vocabulary),
                      .name = args.card.title.empty() ? file_name(run.string()) : args.card.title,
                      .license = args.card.license,
                      .language = args.card.language};
  options.trained_length = longest_sample(args.model, args.checkpoint).value_or(0);
  const GgufReport report = export_gguf(args.output, *model, *vocabulary, options);
  for (const std::string& note : report.notes) print_message(note);
  print_message("made " + report.description);
  return 0;
}

// The options in which the architecture of a run with adapters differs from that of its base, if that is at hand.
std::string changes_of_base(const Path& run) {
  const std::optional<LoraRecord> record = find_lora_record(run);
  if (!record || !std::filesystem::exists(record->base)) return "";
  const auto config_of = [](const Path& of) { return read_config<EncoderOnlyConfig>(of).to_json(); };
  return config_changes(config_of(find_run(record->base)), config_of(run)).of_model;
}

int export_adapters(const ExportArgs& args) {
  const std::string made = write_peft(args.output, args.model, args.checkpoint, args.overwrite);
  print_model_choice(args.model, args.checkpoint);
  print_message("made " + made);
  if (const std::string changes = changes_of_base(find_run(args.model)); !changes.empty())
    print_message("PEFT's files cannot say that the base needs another architecture: " + changes);
  return 0;
}

int export_to_ctranslate2(const ExportArgs& args, const std::string& kind) {
  expect(kind == EncoderDecoderConfig::kModel, "--model", "a translation model, from gyre train nmt", kind);
  require_ctranslate2(read_config<EncoderDecoderConfig>(find_run(args.model)));
  const auto trained = load_trained_model<EncoderDecoder>(args.model, args.checkpoint, {}, {});
  print_model_choice(args.model, args.checkpoint);
  print_message(concat("made ", write_ctranslate2(args.output, *trained.model, *trained.vocabulary, args.overwrite)));
  return 0;
}

int export_model(const ExportArgs& args) {
  const bool is_gguf = args.to == "gguf";
  args.table->reject_unused("outtype", is_gguf, "--to is " + args.to);
  for (const char* name : {"title", "language", "license"})
    args.table->reject_unused(name, args.to != "peft" && args.to != "ctranslate2",
                              "--to " + args.to + " writes no model card");
  if (args.to == "peft") return export_adapters(args);
  args.card.validate();
  const Path run = find_run(args.model);
  const std::string kind = model_kind(run);
  if (is_gguf) return export_to_llama_cpp(args, run);
  if (args.to == "ctranslate2") return export_to_ctranslate2(args, kind);
  if (kind == EncoderDecoderConfig::kModel) {
    // Another architecture is refused before the weights are read.
    marian_config(read_config<EncoderDecoderConfig>(run), {});
    export_as<EncoderDecoder>(args, run);
  } else if (kind == ClassifierConfig::kModel) {
    export_as<SequenceClassifier>(args, run);
  } else {
    export_as<EncoderOnly>(args, run);
  }
  return 0;
}

}  // namespace

void add_export_command(Program& program) {
  auto args = std::make_shared<ExportArgs>();
  OptionTable& table =
      program.command("export", "export a trained model to another program", [args] { return export_model(*args); });
  args->table = &table;
  table.add_choice("--to", args->to, {"hf", "gguf", "peft", "ctranslate2"},
                   "format: hf for transformers, with adapters merged into the model; gguf for llama.cpp, ollama and "
                   "others that read its files; peft for the adapters alone; ctranslate2 for translation models");
  table.required("to");
  add_model_rows(table, args->model, args->checkpoint);
  table.add(
      "--output,-o", args->output, "PATH",
      "gguf: the file; hf: a directory for config.json, model.safetensors and README.md (the model card); also for the "
      "vocabulary, "
      "vocab.txt of WordPiece, tokenizer.model of SentencePiece or else tokenizer.json, and tokenizer_config.json; of "
      "a decoder also generation_config.json, and chat_template.jinja of one trained on conversations; of a "
      "translation model (MarianMTModel) source.spm, target.spm, vocab.json and generation_config.json; of CTranslate2 "
      "model.bin, config.json, the vocabularies and the models of SentencePiece");
  table.required("output");
  table.add_enum("--outtype", args->outtype,
                 "gguf: type of the matrices: f32, f16, bf16, or q8_0, blocks of 32 integers of 8 bits with a scale");
  table.add("--title", args->card.title, "TEXT",
            "heading of the model card, or name in the file; default: the name of the run");
  table.add("--language", args->card.language, "CODE", "language of the model, such as en; default: none is named");
  table.add("--license", args->card.license, "NAME", "license of the model, such as mit; default: none is named");
  table.add_flag("--overwrite", args->overwrite,
                 "replace the file, or the model and the model card in the directory; other files stay");
}

}  // namespace gyre
