#include "tools/inspect/subject.h"

#include <algorithm>

#include "tools/layer_options.h"
#include "tools/model_choice.h"
#include "train/trained_model.h"

namespace gyre {
namespace {

bool is_translator(const std::string& preset) {
  const std::vector<std::string> names = EncoderDecoderConfig::preset_names();
  return std::find(names.begin(), names.end(), preset) != names.end();
}

std::vector<std::string> presets() {
  std::vector<std::string> names = EncoderDecoderConfig::preset_names();
  for (const std::string& name : EncoderOnlyConfig::preset_names()) names.push_back(name);
  return names;
}

template <class Config>
Config preset_config(const Subject& subject) {
  Config config = Config::preset(subject.preset);
  config.vocab_size = subject.vocabulary;
  config.attention = subject.attention;
  config.position = subject.position;
  as_usage_error([&] { config.validate(); });
  return config;
}

// Called where the options say nothing else: those of the preset.
void take_preset(Subject& subject, const std::string& preset) {
  subject.preset = preset;
  const auto take = [&](const ModelConfig& config) {
    subject.attention = config.attention;
    subject.position = config.position;
  };
  is_translator(preset) ? take(EncoderDecoderConfig::preset(preset)) : take(EncoderOnlyConfig::preset(preset));
}

std::unique_ptr<Workload> of_preset(const Subject& s, WorkloadPlace place) {
  if (is_translator(s.preset))
    return translation_workload(preset_config<EncoderDecoderConfig>(s), s.segments, s.length, place);
  return language_workload(preset_config<EncoderOnlyConfig>(s), s.segments, s.length, place);
}

// Of the run's configuration, with initial weights.
std::unique_ptr<Workload> of_run(const Subject& s, const Path& run, WorkloadPlace place) {
  const std::string kind = model_kind(run);
  if (kind == EncoderDecoderConfig::kModel)
    return translation_workload(read_config<EncoderDecoderConfig>(run), s.segments, s.length, place);
  if (kind == EncoderOnlyConfig::kModel)
    return language_workload(read_config<EncoderOnlyConfig>(run), s.segments, s.length, place);
  return classification_workload(read_config<ClassifierConfig>(run), s.segments, s.length, place);
}

std::unique_ptr<Workload> with_weights(const Subject& s, WorkloadPlace place) {
  const Path run = find_run(s.model);
  print_model_choice(s.model, s.checkpoint);
  std::unique_ptr<Workload> work = of_run(s, run, place);
  if (place.dtype == DType::f32) {
    load_model_weights(s.model, work->parameters(), s.checkpoint);
    return work;
  }
  const std::unique_ptr<Workload> single = of_run(s, run, {.device = {}, .dtype = DType::f32});
  load_model_weights(s.model, single->parameters(), s.checkpoint);
  for (const Parameter& p : single->parameters())
    work->parameters()[size_t(p.index)].value.copy_from(p.value.to(place.dtype).to(place.device));
  return work;
}

}  // namespace

void add_subject_options(OptionTable& table, Subject& subject) {
  take_preset(subject, subject.preset);
  table.group("Model and batch");
  std::string listed;
  for (const std::string& name : presets()) listed += (listed.empty() ? "" : ", ") + name;
  table.add_custom(
      "--preset,--task,--arch", 1, 1, "NAME", "a model with its initial weights: " + listed,
      [&subject](const std::vector<std::string>& values) {
        take_preset(subject, OptionTable::chosen_word(values.back(), presets()));
      },
      [&subject] { return toml_value(subject.preset); });
  table.applies_first();
  table.add("--model,-m", subject.model, "DIRECTORY", "instead: a run directory, a checkpoint in it, or its weights");
  table.add("--checkpoint", subject.checkpoint, "NAME", "of the run: best, last, average, a step-... directory");
  table.add("--vocab-size", subject.vocabulary, "PIECES", "of the preset's vocabulary");
  table.add("--segments", subject.segments, "NUMBER", "texts, or pairs of sentences, in the batch: random tokens");
  table.add("--length", subject.length, "TOKENS", "of each of them, on each side");
  add_attention_options(table, subject.attention);
  add_position_options(table, subject.position);
}

std::unique_ptr<Workload> make_subject(const OptionTable& table, const Subject& subject, WorkloadPlace place) {
  if (subject.segments < 1) throw UsageError("--segments: expected at least 1, got ", subject.segments);
  if (subject.length < 2) throw UsageError("--length: expected at least 2, got ", subject.length);
  const bool of_a_run = !subject.model.empty();
  table.reject_idle("checkpoint", of_a_run, "there is no --model");
  if (of_a_run) {
    const std::string reason = "--model has a configuration";
    for (const char* name : {"preset", "vocab-size"}) table.reject_idle(name, false, reason);
    for (const char* group : {"Attention", "Position encoding"}) table.reject_group(group, reason);
  } else {
    reject_idle_order_options(table, subject.attention, subject.position);
  }
  std::unique_ptr<Workload> work = of_a_run ? with_weights(subject, place) : of_preset(subject, place);
  work->draw(0);
  return work;
}

}  // namespace gyre
