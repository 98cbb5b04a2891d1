#include "gyre/models/position/position.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gyre {
namespace {

void append(std::vector<PositionOption>& all, std::vector<PositionOption> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool contains(const std::vector<std::unique_ptr<PositionOptionGroup>>& groups, const std::type_info& type) {
  for (const auto& group : groups)
    if (group->type() == type) return true;
  return false;
}

// "shaw_clip" -> "--shaw-clip"
std::string flag_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

// "--max-positions,--max-source-positions". A boolean that is true by default also has a spelling that turns it off.
std::string names_of(const PositionOption& option) {
  std::string names = flag_of(option.name);
  for (const std::string& alias : option.aliases) names += "," + flag_of(alias);
  const auto* boolean = std::get_if<bool*>(&option.value);
  if (boolean != nullptr && **boolean) names += ",!--no-" + flag_of(option.name).substr(2);
  return names;
}

OptionValue value_of(const PositionOption& option) {
  return std::visit([](auto field) { return OptionValue(field); }, option.value);
}

std::string text_of(const PositionOption& option) {
  const auto* word = std::get_if<EnumPointer>(&option.value);
  return word != nullptr ? std::string(word->name()) : value_of(option).toml();
}

}  // namespace

void declare(OptionList& list, const std::vector<PositionOption>& options, PositionOptionScope scope,
             const std::function<std::vector<PositionOption>()>& read, const std::function<std::string()>& otherwise) {
  for (const PositionOption& option : options) {
    if (option.scope != scope) continue;
    const auto reason_unused = [name = std::string(option.name), read, otherwise] {
      const std::vector<PositionOption> all = read();
      if (std::ranges::count(all, name, &PositionOption::name) == 0) return otherwise();
      for (const PositionOption& other : all)
        if (std::ranges::count(other.disables, name) > 0) return flag_of(other.name) + " is " + text_of(other);
      return std::string();
    };
    list.add(OnResume::another_model, names_of(option), value_of(option), option.unit, option.help,
             {.unused = reason_unused, .also_called = option.also_called, .elsewhere = option.elsewhere});
  }
}

PositionConfig::PositionConfig(std::string name) : encoding(std::move(name)) {
  for (const std::string& one : position_encoding_names()) {
    for (const auto& group : position_encoding_type(one).options)
      if (!contains(groups_, group->type())) groups_.push_back(group->clone());
  }
}

PositionConfig::PositionConfig(const PositionConfig& other) : encoding(other.encoding) {
  for (const auto& group : other.groups_) groups_.push_back(group->clone());
}

PositionConfig& PositionConfig::operator=(const PositionConfig& other) {
  encoding = other.encoding;
  for (size_t i = 0; i < groups_.size(); ++i) groups_[i]->assign(*other.groups_[i]);
  return *this;
}

PositionOptionGroup& PositionConfig::find(const std::type_info& type) const {
  for (const auto& group : groups_)
    if (group->type() == type) return *group;
  throw Error("[position] expected options that an encoding declares, got ", type.name());
}

std::vector<std::vector<PositionOption>> PositionConfig::option_groups() {
  std::vector<std::vector<PositionOption>> all;
  for (const auto& group : groups_) all.push_back(group->describe());
  return all;
}

std::vector<PositionOption> PositionConfig::options() {
  std::vector<PositionOption> all;
  for (const auto& group : groups_) append(all, group->describe());
  return all;
}

std::vector<PositionOption> PositionConfig::options_read() {
  std::vector<PositionOption> read;
  for (const auto& group : position_encoding_type(encoding).options) append(read, find(group->type()).describe());
  return read;
}

Init PositionContext::table_init() const {
  return Init::normal(initial_deviation > 0 ? initial_deviation : 1 / std::sqrt(double(dim)));
}

Init PositionContext::projection_init() const {
  return initial_deviation > 0 ? Init::normal(initial_deviation) : Init::xavier(dim, dim);
}

Tensor segment_positions(const Segments& segments, int offset) {
  Tensor positions = Tensor::empty({segments.tokens()}, DType::i32);
  int32_t* p = positions.data<int32_t>();
  for (int i = 0; i < segments.count(); ++i)
    for (int row = segments.begin(i); row < segments.end(i); ++row) p[row] = int32_t(offset + row - segments.begin(i));
  return positions;
}

void check_positions(const char* encoding, const Tensor& positions, int64_t limit) {
  const auto all = positions.span<int32_t>();
  if (all.empty()) return;
  check_length(encoding, int64_t{*std::max_element(all.begin(), all.end())} + 1, limit);
}

void check_length(const char* encoding, int64_t length, int64_t limit) {
  require(length <= limit, "[", encoding, "] expected at most max_positions = ", limit, " tokens in a sentence, got ",
          length);
}

void PositionConfig::declare(OptionList& list) {
  const auto add_other_name = [&](const std::string& names, const std::string& program, const std::string& name) {
    list.add_switch(names, program + "'s name for --position " + name, [this, name] { encoding = name; });
  };
  list.group("Position encoding");
  list.add(OnResume::another_model, "--position", one_of(&encoding, position_encoding_names()),
           "encoding of the order of tokens",
           OptionDetails{.also_called = {"position-embedding-type", "position-encoding"},
                         .values_called = {{"rope", {"use-rotary-position-embeddings", "rotary", "use-rope"}},
                                           {"learned", {"decoder-learned-pos"}}}});
  add_other_name("--transformer-train-position-embeddings", "Marian", "learned");
  add_other_name("--encoder-learned-pos", "fairseq", "learned");
  add_other_name("--transformer-disable-position-embeddings", "Marian", "none");
  add_other_name("--no-token-positional-embeddings", "fairseq", "none");
  for (const std::vector<PositionOption>& group : option_groups()) {
    for (const PositionOptionScope scope : {PositionOptionScope::encoding, PositionOptionScope::training})
      gyre::declare(
          list, group, scope, [this] { return options_read(); }, [this] { return "--position is " + encoding; });
  }
}

void PositionConfig::declare_cross_attention(OptionList& list) {
  gyre::declare(
      list, options(), PositionOptionScope::cross_attention, [this] { return options_read(); },
      [this] { return "--position is " + encoding; });
}

}  // namespace gyre
