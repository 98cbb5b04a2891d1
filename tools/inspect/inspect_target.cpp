#include "tools/inspect/inspect_target.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/option_list.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/options/model_choice.h"
#include "tools/options/model_options.h"

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

// Sets the preset. Options override its values later.
void take_preset(InspectTarget& target, const std::string& preset) {
  target.preset = preset;
  target.encoder_decoder = {};
  target.single_stack = {};
  if (is_encoder_decoder(preset)) {
    target.encoder_decoder = EncoderDecoderConfig::preset(preset);
  } else {
    target.single_stack = EncoderOnlyConfig::preset(preset);
  }
  if (target.single_stack.vocab_size > 0) target.vocabulary = target.single_stack.vocab_size;
}

// An option that both kinds of models declare, or one of them: the preset selects the declaration that is read.
class EitherOption {
 public:
  EitherOption(const InspectTarget& target, const Option* encoder_decoder, const Option* single_stack)
      : target_(target) {
    if (encoder_decoder != nullptr) encoder_decoder_ = *encoder_decoder;
    if (single_stack != nullptr) single_stack_ = *single_stack;
  }

  // The declaration of the preset's kind, or if it has none, that of the other kind.
  const Option& read() const {
    const bool is_first = is_encoder_decoder(target_.preset) ? encoder_decoder_.has_value() : !single_stack_;
    return is_first ? *encoder_decoder_ : *single_stack_;
  }
  std::string unused() const {
    const bool is_pair = is_encoder_decoder(target_.preset);
    if (is_pair ? !encoder_decoder_ : !single_stack_)
      return concat(target_.preset, is_pair ? " is an encoder-decoder" : " has a single stack");
    return read().unused ? read().unused() : "";
  }

 private:
  const InspectTarget& target_;
  std::optional<Option> encoder_decoder_, single_stack_;
};

Option either(const InspectTarget& target, const Option* encoder_decoder, const Option* single_stack) {
  const auto options = std::make_shared<EitherOption>(target, encoder_decoder, single_stack);
  Option option = single_stack != nullptr ? *single_stack : *encoder_decoder;
  OptionValue& value = option.value;
  value.read = [options](const OptionValue::Words& words) { options->read().value.read(words); };
  if (value.toml) value.toml = [options] { return options->read().value.toml(); };
  if (value.text) value.text = [options] { return options->read().value.text(); };
  if (value.number) value.number = [options] { return options->read().value.number(); };
  option.unused = [options] { return options->unused(); };
  return option;
}

// The option of a list that has one of these names, as in "--layers,--enc-depth"; null if there is none.
const Option* find_any(const OptionList& list, const std::string& names) {
  const std::vector<std::string> wanted = split_list({names});
  for (const OptionList::Entry& entry : list.entries())
    for (const std::string& name : split_list({entry.option.names}))
      if (std::ranges::count(wanted, name) > 0) return &entry.option;
  return nullptr;
}

// The headings of the options of models.
constexpr const char* kModelGroups[] = {"Layers", "Dropout", "Attention", "Position encoding"};

// The options of both kinds of models, each once.
OptionList model_options(InspectTarget& target) {
  OptionList encoder_decoder, single_stack, both;
  target.encoder_decoder.declare(encoder_decoder);
  target.single_stack.declare(single_stack);
  single_stack.at("layers").help = "number of layers; of an encoder-decoder: of the encoder";
  for (const std::string group : kModelGroups) {
    both.group(group);
    const auto is_here = [&](const OptionList::Entry& entry) {  // options without names are values of config.json
      return (entry.group == "Model" ? "Layers" : entry.group) == group && !entry.option.names.empty();
    };
    for (const OptionList::Entry& entry : single_stack.entries())
      if (is_here(entry))
        both.add(entry.on_resume, either(target, find_any(encoder_decoder, entry.option.names), &entry.option));
    for (const OptionList::Entry& entry : encoder_decoder.entries())
      if (is_here(entry) && find_any(single_stack, entry.option.names) == nullptr)
        both.add(entry.on_resume, either(target, &entry.option, nullptr));
  }
  return both;
}

// The options that only --help-all shows.
std::vector<std::string> rare_names(const OptionList& options) {
  const std::vector<std::string> sizes =
      split_list({"layers,dec-depth,dim-emb,transformer-heads,transformer-dim-ffn,kv-heads,norm,attention,position"});
  std::vector<std::string> names;
  for (const OptionList::Entry& entry : options.entries())
    if (std::ranges::count(sizes, entry.option.name()) == 0) names.push_back(entry.option.name());
  return names;
}

template <class Config>
Config checked(const OptionTable& table, Config config, int64_t vocabulary) {
  expect_vocabulary(vocabulary);
  config.vocab_size = vocabulary;
  validate_model(table, [&] { config.validate(); });
  return config;
}

std::unique_ptr<Workload> of_preset(const OptionTable& table, const InspectTarget& s,
                                    ParameterOptions parameter_options) {
  if (is_encoder_decoder(s.preset))
    return translation_workload(checked(table, s.encoder_decoder, s.vocabulary), s.segments, s.length,
                                parameter_options);
  return language_workload(checked(table, s.single_stack, s.vocabulary), s.segments, s.length, parameter_options);
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
  table.add("--vocab-size", target.vocabulary, "PIECES", "vocabulary size");
  table.add("--segments", target.segments, "NUMBER", "sequences or sentence pairs of random tokens in the batch");
  table.add("--length", target.length, "TOKENS", "length of each sequence, on each side");
  const OptionList options = model_options(target);
  table.add(options);
  table.set_rare(rare_names(options));
}

void reject_preset_options(const OptionTable& table, const std::string& reason) {
  for (const char* name : {"preset", "vocab-size"}) table.reject_unused(name, false, reason);
  for (const char* group : kModelGroups) table.reject_group(group, reason);
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
      of_a_run ? with_weights(target, parameter_options) : of_preset(table, target, parameter_options);
  work->draw(0);
  return work;
}

}  // namespace gyre
