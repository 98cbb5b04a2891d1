// Gyre's own format for vocabulary files: a line of JSON, followed by the bytes of the parts in the order of their
// names. The JSON gives the size of each part:
//   {"format":"gyre-vocabulary","version":1,"kind":"subword-nmt",...,"parts":{"codes":8123,"dictionary":91234}}
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "gyre/core/io/json.h"

namespace gyre {

struct VocabularyBundle {
  std::string kind;
  IndexedJson options = IndexedJson::object();
  std::map<std::string, std::string> parts{};  // content by name

  std::string serialize() const;
  // `name` is the name of the file for messages. Throws an Error for malformed content.
  static VocabularyBundle parse(const std::string& name, std::string_view content);
  static bool recognizes(std::string_view content);

  // Returns the content of a part; throws an Error if it is missing. `name` is the name of the file for messages.
  const std::string& part(const std::string& name, const std::string& part_name) const;
};

}  // namespace gyre
