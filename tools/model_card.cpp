#include "tools/model_card.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "gyre/core/counted.h"
#include "gyre/core/hexadecimal.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/version.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/text/printable.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/train/log/progress.h"
#include "gyre/train/period.h"
#include "gyre/train/pretrained/train_state.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/resume.h"
#include "tools/command_line/config_file.h"

namespace gyre {
namespace {

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
  bool is_causal() const { return !is_classifier() && architecture().find("MaskedLM") == std::string::npos; }
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

std::string title_of(const Records& records, const CardOptions& options) {
  return options.title.empty() ? file_name(records.run.string()) : options.title;
}

// A JSON string is also a YAML string. Without quotes, the language "no" would be a boolean.
std::string yaml(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string metadata(const Records& records, const CardOptions& options) {
  std::string text = "---\n";
  if (!options.language.empty()) text += "language: " + yaml(options.language) + "\n";
  if (!options.license.empty()) text += "license: " + yaml(options.license) + "\n";
  return text + "library_name: transformers\npipeline_tag: " +
         (records.is_classifier() ? "text-classification"
          : records.is_causal()   ? "text-generation"
                                  : "fill-mask") +
         "\ntags:\n- " + records.exported.at("model_type").get<std::string>() + "\n- gyre\n---\n\n";
}

std::string purpose(const Records& records) {
  if (records.is_causal()) return "a causal language model";
  if (!records.is_classifier()) return "a masked language model";
  const char* const input = records.reads_pairs() ? "pairs of texts" : "texts";
  const bool scores = records.exported["id2label"].size() == 1;
  return concat(scores ? "a model that scores " : "a classifier of ", input);
}

std::string introduction(const Records& records, const CardOptions& options) {
  std::string text =
      concat("# ", markdown(title_of(records, options)), "\n\n", code(records.architecture()), ", ", purpose(records),
             records.state ? concat(", trained with Gyre ", records.state->version) : "");
  if (records.checkpoint.contains("imported"))
    text += concat(", imported into Gyre from ", code(file_name(records.checkpoint["imported"])));
  text += concat(". Exported by Gyre ", kVersion, ".\n\n");
  const std::string pretrained = records.option("pretrained-model");
  const bool from_scratch = records.option("from-scratch") == "true";
  if (!pretrained.empty() && !from_scratch)
    text += concat("The training started from the encoder ", code(file_name(pretrained)), ".\n\n");
  return text;
}

std::string architecture_section(const Records& records, const CardModel& model) {
  std::string text =
      concat("## Model\n\n- ", model.description, "\n- ", with_commas(model.parameters), " parameters, fp32\n");
  if (const auto longest = records.longest()) text += concat("- at most ", *longest, " tokens of input\n");
  if (model.vocabulary == nullptr) return text + "- no vocabulary: the model reads ids of tokens\n";
  return text + concat("- a vocabulary of ", with_commas(model.vocabulary->size()), " pieces (",
                       model.vocabulary->kind(),
                       can_write_hugging_face(*model.vocabulary) ? ")\n" : "), which is not part of this export\n");
}

// "1,000 documents, 20,000 tokens": of a token store if it still is the one of the run. Empty otherwise.
std::string store_facts(const std::vector<std::string>& files, const TrainState& state) {
  const auto recorded = state.options.find("=training data");
  if (files.size() != 1 || recorded == state.options.end()) return "";
  const Path file = files.front();
  if (!TokenStore::recognizes(file)) return "";
  const TokenStore store(file);
  if (hexadecimal(store.checksum()) != recorded->second || store.sides() != 1) return "";
  return concat(" (a token store of ", with_commas(int64_t(std::filesystem::file_size(file))),
                " bytes: ", with_commas(int64_t(count_documents(store))), " documents, ",
                with_commas(int64_t(store.total_tokens(0))), " tokens)");
}

// The files of all stages, each once.
std::vector<std::string> training_files(const Records& records) {
  std::vector<std::string> files;
  for (const std::vector<std::string>& stage : records.stage_values("train-sets"))
    for (const std::string& file : stage)
      if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  return files;
}

std::string data_section(const Records& records) {
  const std::vector<std::string> training = training_files(records);
  if (!records.state || training.empty()) return "";
  std::string text =
      concat("## Training data\n\n- training: ", code_list(training), store_facts(training, *records.state), "\n");
  const std::vector<std::string> validation = records.values("valid-sets");
  const std::string share = records.option("valid-share");
  if (!validation.empty()) text += concat("- validation: ", code_list(validation), "\n");
  if (!share.empty() && share != "0") text += concat("- validation: a share of ", share, " of it, held out\n");
  const std::string vocabulary = records.option("vocab");
  if (!vocabulary.empty()) text += concat("- vocabulary: ", code(file_name(vocabulary)), "\n");
  const Json classes = records.task.is_object() ? records.task.value("classes", Json::array()) : Json::array();
  for (size_t i = 0; i < classes.size(); ++i)
    text += concat("- class ", i, ": ", code(classes[i].get<std::string>()), "\n");
  return text + "\n";
}

std::string option_rows(const Records& records) {
  std::string text = "| option | value |\n|---|---|\n";
  for (const auto& [key, value] : without_later_stages(records.state->options, records.state->progress.updates)) {
    const std::string name = key.starts_with('=') ? key.substr(1) : key;
    if (name.ends_with("training data") || name == "vocabulary" || value.empty()) continue;  // checksums
    text += concat("| ", name == "shards" ? "micro-batches" : name, " | ",
                   markdown(value.find('/') == std::string::npos ? value : file_name(value)), " |\n");
  }
  for (const char* name :
       {"lr-warmup-start-rate", "transformer-dropout", "transformer-dropout-attention", "transformer-dropout-ffn"}) {
    const std::string value = records.option(name);
    if (!value.empty()) text += concat("| ", name, " | ", markdown(value), " |\n");
  }
  return text + "\n";
}

std::string training_section(const Records& records) {
  if (!records.state) return "";
  const TrainState& state = *records.state;
  const Progress& progress = state.progress;
  const auto tokens = int64_t(progress.source_tokens + progress.target_tokens);
  std::string text = concat("## Training\n\n", with_commas(int64_t(progress.updates)), " updates on ",
                            with_commas(int64_t(progress.sentences)), " samples with ", with_commas(tokens),
                            " tokens, in ", format_duration(state.seconds), " on ", counted(state.ranks, "rank"), ".");
  if (records.checkpoint.contains("averaged")) {
    text += concat(" The weights are the mean of ", counted(records.checkpoint["averaged"].size(), "checkpoint"),
                   "; the newest has this state.");
  }
  if (state.has_average) text += " The weights are a moving average over the updates.";
  return text + " Options of `gyre train`:\n\n" + option_rows(records);
}

std::string validation_section(const Records& records) {
  if (!records.state || records.state->best.empty()) return "";
  const bool is_mean = records.checkpoint.contains("averaged");
  const std::string updates = with_commas(int64_t(records.state->progress.updates));
  std::string text =
      "## Validation\n\nThe best value of each metric during the training, and the update after which it was measured. "
      "The exported weights are " +
      (is_mean ? "the mean of several checkpoints, which was not validated" : "those after update " + updates) +
      ".\n\n| metric | value | update |\n|---|---|---|\n";
  for (const auto& [name, best] : records.state->best)
    text += fmt::format("| {} | {:.4f} | {} |\n", markdown(name), best.value, with_commas(int64_t(best.updates)));
  return text + "\n";
}

std::string use_section(const Records& records, const CardModel& model) {
  std::string text = "## Use\n\nIn the directory of this file:\n\n```python\n";
  if (model.vocabulary == nullptr || !can_write_hugging_face(*model.vocabulary)) {
    const char* const loader = records.is_classifier() ? "AutoModelForSequenceClassification"
                               : records.is_causal()   ? "AutoModelForCausalLM"
                                                       : "AutoModelForMaskedLM";
    return concat(text, "from transformers import ", loader, "\n\nmodel = ", loader,
                  ".from_pretrained(\".\")\n```\n\n");
  }
  text += "from transformers import pipeline\n\n";
  if (records.is_causal()) {
    text += "generate = pipeline(\"text-generation\", model=\".\")\nprint(generate(\"A text\"))\n```\n\n";
  } else if (!records.is_classifier()) {
    text += "fill = pipeline(\"fill-mask\", model=\".\")\nprint(fill(\"A text with one [MASK].\"))\n```\n\n";
  } else {
    const bool scores = records.exported["id2label"].size() == 1;
    text += concat(
        "classify = pipeline(\"text-classification\", model=\".\"", scores ? ", function_to_apply=\"none\"" : "",
        ")\nprint(classify(",
        records.reads_pairs() ? "{\"text\": \"The first text.\", \"text_pair\": \"The second text.\"}" : "\"A text.\"",
        "))\n```\n\n");
  }
  if (model.vocabulary->kind() == "wobert") text += "The tokenizer needs the package rjieba.\n\n";
  if (records.exported.at("model_type") == "nezha") text += "Versions of transformers after 4.40 may lack NEZHA.\n\n";
  return text;
}

std::string limits_section(const Records& records, const CardModel& model) {
  std::string text = "## Limits\n\n";
  if (const auto longest = trained_option(model.path, model.checkpoint, "max-length")) {
    int64_t tokens = records.options.tables.empty() ? std::stoll(*longest) : 0;
    for (const std::vector<std::string>& stage : records.stage_values("max-length"))
      if (stage.size() == 1) tokens = std::max<int64_t>(tokens, std::stoll(stage.front()));
    text += concat("- Samples of the training had at most ", tokens, " tokens.\n");
  }
  return text +
         "- This card contains what the training run recorded. The origin and the license of the training text, and "
         "tests for bias or safety, are not part of that.\n";
}

}  // namespace

void CardOptions::validate() const {
  for (const auto& [flag, text] : {std::pair("--title", title), {"--language", language}, {"--license", license}})
    expect(text.find_first_of("\n\r") == std::string::npos, flag, "one line", "several");
}

std::string model_card(const CardModel& model, const CardOptions& options) {
  const Records records = read_records(model);
  return metadata(records, options) + introduction(records, options) + architecture_section(records, model) + "\n" +
         data_section(records) + training_section(records) + validation_section(records) + use_section(records, model) +
         limits_section(records, model);
}

}  // namespace gyre
