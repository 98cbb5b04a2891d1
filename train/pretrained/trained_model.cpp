#include "gyre/train/pretrained/trained_model.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/models/position/position_table.h"
#include "gyre/train/checkpoint/lora_record.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/checkpoint/run_options.h"

namespace gyre {

namespace {

// The state in a directory of weights, unless they are an average or were imported.
std::optional<TrainState> state_in(const Path& checkpoint) {
  if (!std::filesystem::exists(state_path(checkpoint)) || !read_manifest(checkpoint).contains("progress"))
    return std::nullopt;
  return read_train_state(checkpoint);
}

// The checkpoint that an average was computed from, by the path of its model file at that time. The run may have been
// moved.
Path averaged_checkpoint(const Path& run, const std::string& model_file) {
  const Path then = Path(model_file).parent_path();
  return std::filesystem::exists(then) ? then : checkpoints_path(run) / then.filename();
}

}  // namespace

std::optional<TrainState> find_train_state(const Path& model, const std::string& which) {
  const Path weights = find_model_file(model, which).parent_path();
  if (auto own = state_in(weights)) return own;
  std::optional<TrainState> newest;
  if (!std::filesystem::exists(state_path(weights))) return newest;
  for (const auto& file : read_manifest(weights).value("averaged", Json::array())) {
    auto state = state_in(averaged_checkpoint(find_run(model), file.get<std::string>()));
    if (state && (!newest || state->progress.updates > newest->progress.updates)) newest = std::move(state);
  }
  return newest;
}

std::optional<TrainState> newest_train_state(const Path& run) {
  const std::vector<Path> checkpoints = list_checkpoints(run);
  for (auto checkpoint = checkpoints.rbegin(); checkpoint != checkpoints.rend(); ++checkpoint) {
    try {
      if (auto state = state_in(*checkpoint)) return state;
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

std::optional<TrainState> find_run_state(const Path& model, const std::string& which) {
  if (auto state = find_train_state(model, which)) return state;
  const Path run = find_run(model);
  if (auto newest = newest_train_state(run)) return newest;
  const auto adapters = find_lora_record(run);  // imported: their base tells how texts begin
  return adapters ? find_run_state(adapters->base, "") : std::nullopt;
}

namespace {

std::vector<Path> vocabularies_of(const Path& run) {
  std::vector<Path> found;
  for (const auto& entry : std::filesystem::directory_iterator(run))
    if (entry.path().stem() == "vocab") found.push_back(entry.path());
  return found;
}

// Throws an Error that names gyre import if the directory has a model of Hugging Face.
Json read_run_config(const Path& run) {
  Json json = read_json(config_path(run));
  require(!json.is_object() || json.contains("model") || !json.contains("model_type"), config_path(run).string(),
          ": expected the config.json of a run, found that of a model of Hugging Face: gyre import makes a run of it");
  return json;
}

// "a decoder (language model)"
std::string described_kind(const std::string& kind, bool causal) {
  if (kind == EncoderDecoderConfig::kModel) return "a translation model (encoder-decoder)";
  if (kind == ClassifierConfig::kModel) return "an encoder with a classification head";
  if (kind == EncoderOnlyConfig::kModel)
    return causal ? "a decoder (language model)" : "an encoder (masked language model)";
  return "a model of kind " + kind;
}

// Throws an Error that says what the model is if it is of another kind.
template <class Config>
void require_kind(const Json& json) {
  const bool names_kind = json.is_object() && json.contains("model") && json["model"].is_string();
  if (!names_kind || json["model"] == Config::kModel) return;  // errors in the file are found later
  const bool causal = json.contains("causal") && json["causal"] == true;
  const std::string expected = std::is_same_v<Config, EncoderOnlyConfig> ? "an encoder or a decoder (language model)"
                                                                         : described_kind(Config::kModel, false);
  throw Error("expected ", expected, ", found ", described_kind(json["model"], causal));
}

}  // namespace

Json read_json(const Path& file) {
  return parse_ordered_json(read_file(file), kMaxJsonDepth, file.string() + ": ", "the file");
}

template <class Config>
Config read_config(const Path& run) {
  const Json json = read_run_config(run);
  try {
    require_kind<Config>(json);
    return Config::from_json(json);
  } catch (const Error& error) {
    throw Error(config_path(run).string(), ": ", json_reason(error));
  }
}
template EncoderDecoderConfig read_config(const Path& run);
template EncoderOnlyConfig read_config(const Path& run);
template ClassifierConfig read_config(const Path& run);

std::string model_kind(const Path& run) {
  const Json json = read_run_config(run);
  require(json.is_object() && json.contains("model") && json["model"].is_string(), config_path(run).string(),
          ": expected a \"model\" that names its kind, found none");
  return json["model"];
}

bool has_vocabulary(const Path& run) { return !vocabularies_of(run).empty(); }

std::optional<Path> own_vocabulary(const Path& run) {
  const std::vector<Path> found = vocabularies_of(run);
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

Path find_vocabulary(const Path& run) {
  const std::vector<Path> found = vocabularies_of(run);
  require(found.size() == 1, "[model] ", run.string(), ": expected one vocab.* file, found ", found.size(),
          "; choose one with --vocab");
  return found.front();
}

std::optional<std::string> trained_option(const Path& model, const std::string& which, const std::string& name) {
  const std::optional<TrainState> state = find_run_state(model, which);
  if (!state) return std::nullopt;
  const std::string* found = state->options.find(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<int> longest_sample(const Path& model, const std::string& which) {
  const std::optional<TrainState> state = find_run_state(model, which);
  if (!state) return std::nullopt;
  return without_later_stages(state->options, state->progress.updates).longest_sample();
}

int trained_length(const Path& model, const std::string& which) {
  if (const auto length = longest_sample(model, which)) return *length;
  const auto config = read_config<EncoderOnlyConfig>(find_run(model));
  const int64_t positions = config.position.get<PositionTableOptions>().max_positions;
  return int(std::min<int64_t>(positions, std::numeric_limits<int>::max()));
}

void require_run_vocabulary(const Path& run, const Vocabulary& vocabulary, const std::string& name) {
  std::optional<std::string> expected;
  if (const auto state = newest_train_state(run))
    if (const std::string* recorded = state->options.find("vocabulary")) expected = *recorded;
  std::string fitting;  // a copy in the run that has the expected fingerprint, for the message
  if (const auto own = own_vocabulary(run)) {
    const std::string print = hexadecimal(load_vocabulary(*own)->fingerprint());
    if (!expected) expected = print;
    if (print == *expected) fitting = concat(", as of ", own->string());
  }
  const std::string given = hexadecimal(vocabulary.fingerprint());
  if (!expected || given == *expected) return;
  throw Error("[vocabulary] ", name, " is not the vocabulary of the model ", run.string(),
              ", so its ids would mean other pieces: expected the fingerprint ", *expected, fitting, ", got ", given);
}

std::shared_ptr<const Vocabulary> load_run_vocabulary(const Path& run, const Path& file, VocabularySizes sizes,
                                                      const Path& target) {
  const Path path = file.empty() ? find_vocabulary(run) : file;
  auto vocabulary = load_vocabulary(path, target);
  for (const auto& [side, expected] : {std::pair(0, sizes.source), {1, sizes.target}}) {
    const int64_t size = vocabulary->side(side).size();
    require(size == expected, "[vocabulary] ", path.string(), " does not fit the model: expected ", expected,
            " pieces as in ", config_path(run).string(), ", got ", size);
  }
  require_run_vocabulary(run, *vocabulary, path.string());
  return vocabulary;
}

namespace {

Json column_json(const std::optional<Column>& column) {
  return column ? Json{{"name", column->name}, {"number", column->number}} : Json();
}

std::optional<Column> column_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return Column{json.at("name"), json.at("number")};
}

}  // namespace

Json TrainedTask::to_json() const {
  Json json{{"header", format.has_header},
            {"text", column_json(format.text)},
            {"second_text", column_json(format.second_text)},
            {"label", column_json(format.label)},
            {"classes", format.classes},
            {"metrics", metrics},
            {"max_length", max_length}};
  if (is_imported) json["imported"] = true;
  return json;
}

TrainedTask imported_task(std::vector<std::string> classes) {
  TrainedTask task;
  task.is_imported = true;
  task.format.label = Column{"", 1};
  task.format.classes = std::move(classes);
  task.metrics = task.format.is_regression() ? std::vector<std::string>{"spearman", "pearson"}
                                             : std::vector<std::string>{"accuracy"};
  return task;
}

TrainedTask read_task(const Path& run) {
  const Json json = read_json(task_path(run));
  try {
    TrainedTask task;
    task.format = {json.at("header"), column_of(json.at("text")).value(), column_of(json.at("second_text")),
                   column_of(json.at("label")), json.at("classes")};
    task.metrics = json.at("metrics");
    task.max_length = json.at("max_length");
    task.is_imported = json.value("imported", false);
    return task;
  } catch (const std::exception& error) {
    throw Error(task_path(run).string(),
                ": expected a classifier's task as gyre train writes it: ", json_reason(error));
  }
}

}  // namespace gyre
