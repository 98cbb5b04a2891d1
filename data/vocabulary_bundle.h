// The file of the kinds that need more than one part: a line of JSON, then the parts, byte for byte.
//   {"format":"gyre-vocabulary","version":1,"kind":"subword-nmt",...,"parts":{"codes":8123,"dictionary":91234}}
// The parts follow in the order of their names.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gyre {

struct VocabularyBundle {
  std::string kind;
  nlohmann::json options = nlohmann::json::object();
  std::map<std::string, std::string> parts{};  // by name

  std::string serialize() const;
  // `name` is the file's, for messages.
  static VocabularyBundle parse(const std::string& name, std::string_view content);
  static bool recognises(std::string_view content);

  const std::string& part(const std::string& name, const std::string& part_name) const;  // an Error when missing
};

}  // namespace gyre
