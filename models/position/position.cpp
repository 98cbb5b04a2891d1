#include "gyre/models/position/position.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gyre {
namespace {

bool contains(const std::vector<std::unique_ptr<PositionOptionGroup>>& groups, const std::type_info& type) {
  for (const auto& group : groups)
    if (group->type() == type) return true;
  return false;
}

}  // namespace

std::string key_of(const Option& option) {
  std::string key = option.name();
  std::ranges::replace(key, '-', '_');
  return key;
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

OptionList PositionConfig::options() {
  OptionList list;
  for (const auto& group : groups_) group->declare(list);
  return list;
}

OptionList PositionConfig::options_read() {
  OptionList list;
  for (const auto& group : position_encoding_type(encoding).options) find(group->type()).declare(list);
  return list;
}

std::string PositionConfig::reason_unused(const std::string& option) {
  const OptionList read = options_read();
  for (const OptionList::Entry& entry : read.entries())
    if (entry.option.name() == option) return entry.option.unused ? entry.option.unused() : "";
  return "--position is " + encoding;
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

void PositionConfig::declare(OptionList& list, bool has_cross_attention) {
  const auto add_other_name = [&](const std::string& names, const std::string& program, const std::string& name) {
    list.add_switch(names, program + "'s name for --position " + name, [this, name] { encoding = name; });
  };
  list.group("Position encoding");
  list.add(OnResume::another_model, "--position", one_of(&encoding, position_encoding_names()),
           "encoding of the order of tokens",
           OptionDetails{.key = "position/encoding",
                         .also_called = {"position-embedding-type", "position-encoding"},
                         .values_called = {{"rope", {"use-rotary-position-embeddings", "rotary", "use-rope"}},
                                           {"learned", {"decoder-learned-pos"}}}});
  add_other_name("--transformer-train-position-embeddings", "Marian", "learned");
  add_other_name("--encoder-learned-pos", "fairseq", "learned");
  add_other_name("--transformer-disable-position-embeddings", "Marian", "none");
  add_other_name("--no-token-positional-embeddings", "fairseq", "none");
  const OptionList all = options();
  for (auto [option, on_resume, group] : all.entries()) {
    option.key = "position/" + key_of(option);
    option.unused = [this, name = option.name()] { return reason_unused(name); };
    if (group == kCrossAttentionPositions && !has_cross_attention) option.names.clear();
    list.add(on_resume, std::move(option));
  }
}

}  // namespace gyre
