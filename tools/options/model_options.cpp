#include "tools/options/model_options.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "gyre/models/position/position.h"

namespace gyre {
namespace {

using Values = std::vector<std::string>;

constexpr std::string_view kPreNorm = "-prenorm";

// Accepts a preset, Marian's "<preset>-prenorm", or one of fairseq's architecture names.
EncoderDecoderConfig named_config(std::string name) {
  static const std::map<std::string, std::string> fairseq{{"transformer", "transformer-base"},
                                                          {"transformer_wmt_en_de", "transformer-base"},
                                                          {"transformer_wmt_en_de_big", "transformer-big"},
                                                          {"transformer_vaswani_wmt_en_de_big", "transformer-big"}};
  const bool pre_norm = name.ends_with(kPreNorm);
  if (pre_norm) name.resize(name.size() - kPreNorm.size());
  if (const auto known = fairseq.find(name); known != fairseq.end()) name = known->second;
  EncoderDecoderConfig config = EncoderDecoderConfig::preset(chosen_word(name, EncoderDecoderConfig::preset_names()));
  if (pre_norm) config.norm = NormPlacement::pre;
  return config;
}

std::vector<std::string> preset_words() {
  std::vector<std::string> words = EncoderDecoderConfig::preset_names();
  for (const std::string& name : EncoderDecoderConfig::preset_names()) words.push_back(name + std::string(kPreNorm));
  return words;
}

// The option of a word in a message; empty if the word is no key. Keys that are the name of their option, such as norm,
// are words of English too.
std::string option_of(const OptionTable& table, const std::string& word, bool is_in_brackets) {
  const std::string option = table.option_of_key(word);
  const bool is_name = option.empty() || option == word;
  if (!is_name || word == "position") return is_name ? word : option;
  return is_in_brackets || word.find('_') != word.npos ? word : "";
}

// The options of a position encoding whose names end with a word of a message, such as wavelet_scales, and those of the
// width of a head.
std::vector<std::string> position_options_of(PositionConfig& encoding, const std::string& word) {
  std::vector<std::string> names;
  const OptionList read = encoding.options_read();
  for (const OptionList::Entry& entry : read.entries())
    if (key_of(entry.option).ends_with("_" + word)) names.push_back(entry.option.name());
  if (word == "width" || word == "dims") names.insert(names.end(), {"dim-emb", "transformer-heads"});
  return names;
}

// The options of all words in a message. A message about a position encoding begins with its name in brackets.
std::vector<std::string> options_behind(const OptionTable& table, const std::string& message) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_";
  std::vector<std::string> options;
  const auto add = [&](std::string name) {
    if (name.empty()) return;
    std::ranges::replace(name, '_', '-');
    const std::string option = "--" + name;
    if (table.has(name) && std::ranges::count(options, option) == 0) options.push_back(option);
  };
  const std::string source = message.starts_with('[') ? message.substr(1, message.find(']') - 1) : "";
  PositionConfig encoding;
  const bool is_position = std::ranges::count(position_encoding_names(), source) > 0;
  if (is_position) {
    encoding.encoding = source;
    add("position");
  }
  for (size_t begin = message.find_first_of(kLetters), end = 0; begin != message.npos;
       begin = message.find_first_of(kLetters, end)) {
    end = std::min(message.find_first_not_of(kLetters, begin), message.size());
    const std::string_view before = std::string_view(message).substr(0, begin);
    if (before.ends_with("got ")) continue;  // a value
    const std::string word = message.substr(begin, end - begin);
    add(option_of(table, word, before.ends_with('[') && !is_position));
    if (!is_position) continue;
    for (const std::string& name : position_options_of(encoding, word)) add(name);
  }
  return options;
}

template <class Config>
void check(const OptionTable& table, Config config) {
  table.reject_unused();
  config.vocab_size = 4;  // the reserved pieces; any valid size
  validate_model(table, [&] { config.validate(); });
}

}  // namespace

void add_model_options(OptionTable& table, ModelArgs& args) {
  table.group("Model");
  table.add_custom(
      "--task,--arch,--preset", 1, 1, "NAME",
      "architecture whose values other options override: transformer-tiny, -base or -big, also with -prenorm",
      [&args](const Values& values) {
        args.config = named_config(values.back());
        args.task = values.back();
      },
      [&args] { return toml_value(args.task); });
  table.set_completions(preset_words());
  table.applies_first();
  table.add_options(args.config);
}

void add_encoder_options(OptionTable& table, EncoderArgs& args, const std::string& preset_names,
                         const std::vector<std::string>& presets) {
  table.group("Model");
  table.add_custom(
      preset_names, 1, 1, "NAME", "architecture whose values other options override: " + joined(presets),
      [&args, presets](const Values& values) { args = EncoderArgs(chosen_word(values.back(), presets)); },
      [&args] { return toml_value(args.preset); });
  table.set_completions(presets);
  table.applies_first();
  table.add_options(args.config);
}

std::vector<std::string> encoder_presets() {
  std::vector<std::string> names = EncoderOnlyConfig::preset_names();
  std::erase_if(names, [](const std::string& name) { return EncoderOnlyConfig::preset(name).causal; });
  return names;
}

void check_model_options(const OptionTable& table, const EncoderDecoderConfig& config) { check(table, config); }
void check_encoder_options(const OptionTable& table, const EncoderOnlyConfig& config) { check(table, config); }

void validate_model(const OptionTable& table, const std::function<void()>& validate) {
  try {
    validate();
  } catch (const Error& error) {
    const std::vector<std::string> options = options_behind(table, error.what());
    throw UsageError(error.what(), options.empty() ? "" : "; see ", joined(options));
  }
}

}  // namespace gyre
