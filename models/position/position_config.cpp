#include "gyre/models/position/position_config.h"

#include <utility>

#include "gyre/models/position/position.h"

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

}  // namespace

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

}  // namespace gyre
