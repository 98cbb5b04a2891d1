#include "tools/options/layer_options.h"

#include <algorithm>
#include <string_view>

#include "gyre/models/position/position.h"
#include "tools/options/position_options.h"

namespace gyre {

namespace {

using Values = std::vector<std::string>;

// The options of keys in config.json whose name is another. Other keys have the name of their option, with '_' for '-'.
struct OptionOfKey {
  std::string_view key, option;
};
constexpr OptionOfKey kOptionsOfKeys[] = {{"dim", "dim-emb"},
                                          {"ffn", "transformer-dim-ffn"},
                                          {"heads", "transformer-heads"},
                                          {"encoder_layers", "enc-depth"},
                                          {"decoder_layers", "dec-depth"},
                                          {"dropout", "transformer-dropout"},
                                          {"attention_dropout", "transformer-dropout-attention"},
                                          {"activation_dropout", "transformer-dropout-ffn"},
                                          {"window", "attention-window"},
                                          {"position", "position"}};

// The option of a word in a message; empty if the word is no key.
std::string option_of(std::string_view word, bool is_in_brackets) {
  const auto* const found = std::ranges::find(kOptionsOfKeys, word, &OptionOfKey::key);
  if (found != std::end(kOptionsOfKeys)) return std::string(found->option);
  // Other keys of one word, such as norm, are words of English too.
  return is_in_brackets || word.find('_') != word.npos ? std::string(word) : "";
}

// The options of a position encoding whose names end with a word of a message, such as wavelet_scales, and those of the
// width of a head.
std::vector<std::string> position_options_of(PositionConfig& encoding, const std::string& word) {
  std::vector<std::string> names;
  for (const PositionOption& option : encoding.options_read())
    if (std::string(option.name).ends_with("_" + word)) names.emplace_back(option.name);
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
    add(option_of(word, before.ends_with('[') && !is_position));
    if (!is_position) continue;
    for (const std::string& name : position_options_of(encoding, word)) add(name);
  }
  return options;
}

// Marian writes the order of dropout, add and norm as letters.
void add_norm_rows(OptionTable& table, ModelConfig& c) {
  table.add_enum("--norm", c.norm, "layer norm after each residual sum, or before each block");
  table.add_flag("--final-norm,!--no-final-norm", c.final_norm, "with --norm pre: a final norm on top of each stack");
  table.add("--layer-norm-epsilon", c.layer_norm_epsilon, "NUMBER", "epsilon of layer norm, added to the variance");
  table.add_custom("--transformer-postprocess", 1, 1, "dan|da", "Marian's name for --norm post (dan) or pre (da)",
                   [&c](const Values& values) {
                     const std::string word = chosen_word(values.back(), {"dan", "da"});
                     c.norm = word == "dan" ? NormPlacement::post : NormPlacement::pre;
                   });
  table.set_completions({"dan", "da"});
  table.add_switch("--encoder-normalize-before", "fairseq's name for --norm pre",
                   [&c] { c.norm = NormPlacement::pre; });
}

void add_dropout_rows(OptionTable& table, ModelConfig& c) {
  table.group("Dropout");
  table.add("--transformer-dropout,--dropout", c.dropout, "RATE", "dropout rate of embeddings and residual branches");
  table.add("--transformer-dropout-attention,--attention-dropout", c.attention_dropout, "RATE",
            "dropout rate of the attention weights");
  table.add("--transformer-dropout-ffn,--activation-dropout", c.activation_dropout, "RATE",
            "dropout rate inside the feed-forward blocks");
}

}  // namespace

void add_attention_options(OptionTable& table, AttentionConfig& a) {
  table.group("Attention");
  table.add_enum("--attention", a.kind, "kind of self-attention");
  table.add("--attention-window", a.window, "TOKENS",
            "window size of --attention window: the last tokens if causal, else half on each side");
  table.add_enum("--linear-map", a.linear_map, "feature map of --attention linear");
  table.add_enum(
      "--linear-rope", a.linear_rope,
      "operands of the rotation with --attention linear: mapped features, or queries and keys before the map");
  table.add("--favor-features", a.favor_features, "NUMBER",
            "random features of a head with --linear-map favor+; 0: width x ln(width)");
  table.add("--favor-redraw", a.favor_redraw, "UPDATES",
            "redraw the random features after this many updates; 0: never");
}

void reject_unused_attention_and_position_options(const OptionTable& table, const AttentionConfig& a,
                                                  const PositionConfig& position) {
  const std::string kind = "--attention is " + std::string(enum_name(a.kind));
  const bool linear = a.kind == AttentionKind::linear;
  reject_unused_position_options(table, position);
  table.reject_unused("attention-window", a.kind == AttentionKind::window, kind);
  table.reject_unused("linear-map", linear, kind);
  table.reject_unused("linear-rope", linear && position.encoding == "rope",
                      linear ? "--position is " + position.encoding : kind);
  for (const char* name : {"favor-features", "favor-redraw"})
    table.reject_unused(name, a.uses_favor(),
                        linear ? "--linear-map is " + std::string(enum_name(a.linear_map)) : kind);
}

void validate_model(const OptionTable& table, const std::function<void()>& validate) {
  try {
    validate();
  } catch (const Error& error) {
    const std::vector<std::string> options = options_behind(table, error.what());
    throw UsageError(error.what(), options.empty() ? "" : "; see ", joined(options));
  }
}

void add_layer_options(OptionTable& table, ModelConfig& config) {
  add_norm_rows(table, config);
  add_dropout_rows(table, config);
  add_attention_options(table, config.attention);
  add_position_options(table, config.position);
}

void reject_unused_layer_options(const OptionTable& table, const ModelConfig& config) {
  reject_unused_attention_and_position_options(table, config.attention, config.position);
  table.reject_unused("final-norm", config.norm == NormPlacement::pre, "--norm is post");
}

}  // namespace gyre
