#include "gyre/train/pretrained/trained_model.h"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/train/pretrained/train_state.h"

namespace gyre {

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
  const auto found = state->options.find("=" + name);
  return found == state->options.end() ? std::nullopt : std::optional<std::string>(found->second);
}

int trained_length(const Path& model, const std::string& which) {
  const auto length = trained_option(model, which, "max-length");
  return length ? std::stoi(*length) : 512;
}

void require_run_vocabulary(const Path& run, const Vocabulary& vocabulary, const std::string& name) {
  std::optional<std::string> expected;
  if (const auto state = newest_train_state(run)) {
    const auto recorded = state->options.find("=vocabulary");
    if (recorded != state->options.end()) expected = recorded->second;
  }
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

std::shared_ptr<const Vocabulary> load_run_vocabulary(const Path& run, const Path& file, int64_t size) {
  const Path path = file.empty() ? find_vocabulary(run) : file;
  auto vocabulary = load_vocabulary(path);
  require(vocabulary->size() == size, "[vocabulary] ", path.string(), " does not fit the model: expected ", size,
          " pieces as in ", config_path(run).string(), ", got ", vocabulary->size());
  require_run_vocabulary(run, *vocabulary, path.string());
  return vocabulary;
}

}  // namespace gyre
