#include "gyre/train/pretrained/peft.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/version.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/hugging_face/peft.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/checkpoint/lora_record.h"
#include "gyre/train/pretrained/hugging_face.h"
#include "gyre/train/pretrained/trained_model.h"

namespace gyre {

namespace fs = std::filesystem;

namespace {

EncoderOnlyConfig language_config(const Path& run) {
  require(model_kind(run) == EncoderOnlyConfig::kModel, "[peft] ", run.string(),
          ": expected a language model, whose layers have names in transformers, found another kind (", model_kind(run),
          ")");
  return read_config<EncoderOnlyConfig>(run);
}

// The directory of transformers' model that the base was imported from, or nothing.
Json origin_of(const Path& base) {
  const Path state = state_path(base.parent_path());
  return fs::exists(state) ? read_manifest(base.parent_path()).value("imported", Json()) : Json();
}

void copy_chat_template(const Path& from, const Path& into) {
  if (fs::exists(from / kChatTemplateFile)) write_file(into / kChatTemplateFile, read_file(from / kChatTemplateFile));
}

std::string describe(const LoraAdapters& adapters, const Path& directory) {
  return concat(directory.string(), ": ", adapters.describe());
}

}  // namespace

std::string write_imported_adapters(const Path& from, const Path& base, const Path& path, bool overwrite) {
  const Path config_file = from / kPeftConfigFile, weights_file = from / kPeftWeightsFile;
  require(fs::exists(config_file), "[peft] ", from.string(), ": expected a directory with ", kPeftConfigFile,
          ", found none");
  require(fs::exists(weights_file), "[peft] ", from.string(), ": expected ", kPeftWeightsFile,
          ", found none; PEFT's save_pretrained() writes it");
  const Path base_run = find_run(base);
  std::error_code ignored;  // a new run does not exist yet
  expect(!fs::equivalent(base_run, path, ignored), "--base-model", "another run than --output", base.string());
  const EncoderOnlyConfig config = language_config(base_run);
  const PeftConfig peft = parse_peft_config(read_file(config_file), config_file.string() + ": ");
  LoraRecord record{peft.options, find_model_file(base), ""};
  const auto model = load_model<EncoderOnly>(config, base, "", {});
  record.digest = weights_digest(model->parameters());
  LoraAdapters adapters(model->parameters(), record.options);
  read_peft_weights(SafetensorsFile(weights_file), peft, model->parameters(), adapters, config);
  const Json state{{"gyre", kVersion}, {"imported", fs::absolute(from).lexically_normal().string()}};
  const auto complete = [&](const Path& into) {
    copy_model_files(base_run, into);
    copy_chat_template(from, into);
    write_file(lora_path(into), json_text(record.to_json(path), 2) + "\n");
  };
  write_run_of_weights(path, {adapters.parameters(), config.to_json(), state, complete}, overwrite);
  return describe(adapters, path);
}

std::string write_peft(const Path& directory, const Path& model, const std::string& which, bool overwrite) {
  const Path run = find_run(model), file = find_model_file(model, which);
  const std::optional<LoraRecord> record = find_lora_record(run);
  require(record.has_value(), "[--to peft] ", run.string(),
          ": expected a run with adapters (train --lora-rank), found a whole model: --to hf exports it");
  require(!fs::exists(record->base) || !find_lora_record(find_run(record->base)), "[--to peft] ", run.string(),
          ": expected adapters of a whole model, but their base ", record->base.string(),
          " has adapters too: gyre checkpoint merge and --to hf write one model");
  const EncoderOnlyConfig config = language_config(run);
  EncoderOnly network(config);
  LoraAdapters adapters(network.parameters(), record->options);
  verify_if_checkpoint(file);
  read_adapters(file, network.parameters(), adapters);
  PeftAdapter peft = peft_adapter(network.parameters(), record->options, config);
  peft.config["base_model_name_or_path"] = origin_of(record->base);
  require_free_for_model(directory, overwrite, belongs_to_model);  // transformers would add the adapters to its model
  const auto write = [&](const Path& into) {
    write_file(into / kPeftConfigFile, json_text(peft.config, 2) + "\n");
    write_safetensors(into / kPeftWeightsFile, peft.tensors);
    copy_chat_template(run, into);
  };
  replace_files(directory, write, [&] { remove_model(directory, belongs_to_model); });
  return describe(adapters, directory);
}

}  // namespace gyre
