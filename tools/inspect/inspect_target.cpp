#include "tools/inspect/inspect_target.h"

#include <algorithm>

#include "gyre/core/option_checks.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/options/model_choice.h"

namespace gyre {
namespace {

bool is_encoder_decoder(const std::string& preset) {
  const std::vector<std::string> names = EncoderDecoderConfig::preset_names();
  return std::find(names.begin(), names.end(), preset) != names.end();
}

std::vector<std::string> presets() {
  std::vector<std::string> names = EncoderDecoderConfig::preset_names();
  for (const std::string& name : EncoderOnlyConfig::preset_names()) names.push_back(name);
  return names;
}

template <class Config>
Config preset_config(const InspectTarget& target) {
  expect_vocabulary(target.vocabulary);
  Config config = Config::preset(target.preset);
  config.vocab_size = target.vocabulary;
  config.attention = target.attention;
  config.position = target.position;
  as_usage_error([&] { config.validate(); });
  return config;
}

// Sets the preset and the attention and position options to its values. Other options override them later.
void take_preset(InspectTarget& target, const std::string& preset) {
  target.preset = preset;
  const auto take = [&](const ModelConfig& config) {
    target.attention = config.attention;
    target.position = config.position;
  };
  is_encoder_decoder(preset) ? take(EncoderDecoderConfig::preset(preset)) : take(EncoderOnlyConfig::preset(preset));
}

std::unique_ptr<Workload> of_preset(const InspectTarget& s, ParameterOptions parameter_options) {
  if (is_encoder_decoder(s.preset))
    return translation_workload(preset_config<EncoderDecoderConfig>(s), s.segments, s.length, parameter_options);
  return language_workload(preset_config<EncoderOnlyConfig>(s), s.segments, s.length, parameter_options);
}

// The workload of the run's configuration, with initial weights.
std::unique_ptr<Workload> of_run(const InspectTarget& s, const Path& run, ParameterOptions parameter_options) {
  const std::string kind = model_kind(run);
  if (kind == EncoderDecoderConfig::kModel)
    return translation_workload(read_config<EncoderDecoderConfig>(run), s.segments, s.length, parameter_options);
  if (kind == EncoderOnlyConfig::kModel)
    return language_workload(read_config<EncoderOnlyConfig>(run), s.segments, s.length, parameter_options);
  return classification_workload(read_config<ClassifierConfig>(run), s.segments, s.length, parameter_options);
}

std::unique_ptr<Workload> with_weights(const InspectTarget& s, ParameterOptions parameter_options) {
  const Path run = find_run(s.model);
  print_model_choice(s.model, s.checkpoint);
  std::unique_ptr<Workload> work = of_run(s, run, parameter_options);
  if (parameter_options.dtype == DType::f32) {
    load_model_weights(s.model, work->parameters(), s.checkpoint);
    return work;
  }
  const std::unique_ptr<Workload> single = of_run(s, run, {.device = {}, .dtype = DType::f32});
  load_model_weights(s.model, single->parameters(), s.checkpoint);
  for (const Parameter& p : single->parameters())
    work->parameters()[size_t(p.index)].value.copy_from(
        p.value.to(parameter_options.dtype).to(parameter_options.device));
  return work;
}

}  // namespace

void add_target_options(OptionTable& table, InspectTarget& target) {
  take_preset(target, target.preset);
  table.group("Model and batch");
  table.add_custom(
      "--preset,--task,--arch", 1, 1, "NAME", "model with initial weights: " + joined(presets()),
      [&target](const std::vector<std::string>& values) { take_preset(target, chosen_word(values.back(), presets())); },
      [&target] { return toml_value(target.preset); });
  table.applies_first();
  table.add("--model,-m", target.model, "DIRECTORY",
            "use this model instead: a run directory, a checkpoint in it, or its weights");
  add_checkpoint_row(table, target.checkpoint);
  table.add("--vocab-size", target.vocabulary, "PIECES", "vocabulary size of the preset");
  table.add("--segments", target.segments, "NUMBER", "sequences or sentence pairs of random tokens in the batch");
  table.add("--length", target.length, "TOKENS", "length of each sequence, on each side");
  table.add_options(target.attention, target.position);
  table.add_options(target.position);
}

void reject_preset_options(const OptionTable& table) {
  const std::string reason = "--model defines the configuration";
  for (const char* name : {"preset", "vocab-size"}) table.reject_unused(name, false, reason);
  for (const char* group : {"Attention", "Position encoding"}) table.reject_group(group, reason);
}

std::unique_ptr<Workload> make_target_workload(const OptionTable& table, const InspectTarget& target,
                                               ParameterOptions parameter_options) {
  expect_at_least(1, "--segments", target.segments);
  expect_at_least(2, "--length", target.length);
  const bool of_a_run = !target.model.empty();
  table.reject_unused("checkpoint", of_a_run, "there is no --model");
  if (of_a_run) {
    reject_preset_options(table);
  } else {
    table.reject_unused();
  }
  std::unique_ptr<Workload> work =
      of_a_run ? with_weights(target, parameter_options) : of_preset(target, parameter_options);
  work->draw(0);
  return work;
}

}  // namespace gyre
