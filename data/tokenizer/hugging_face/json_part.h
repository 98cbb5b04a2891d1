// Strict reading of a part of a tokenizer.json: a field that the reader does not ask for is an error, so that no
// setting is overlooked.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "gyre/core/io/json.h"

namespace gyre {

class JsonPart {
 public:
  // Refers to `json`. context: beginning of all messages; name: of the part, such as "pre_tokenizer". Throws an Error
  // unless it is an object.
  JsonPart(const IndexedJson& json, std::string context, std::string name);

  const std::string& context() const { return context_; }
  const std::string& name() const { return name_; }
  std::string name_of(const std::string& key) const { return name_.empty() ? key : name_ + "." + key; }

  const IndexedJson& get(const std::string& key);  // null if the field is missing
  bool has(const std::string& key) const { return json_.contains(key); }
  std::string text(const std::string& key);
  std::string text(const std::string& key, const std::string& otherwise);  // otherwise: for a missing or null field
  bool flag(const std::string& key, bool otherwise);
  JsonPart part(const std::string& key) { return {get(key), context_, name_of(key)}; }
  std::string type() { return text("type"); }
  // Fields without an effect on ids.
  void ignore(std::initializer_list<const char*> keys) { read_.insert(keys.begin(), keys.end()); }
  // Throws an Error that names the first field, other than null, that was neither read nor ignored.
  void finish() const;

  // Names the field, what Gyre supports there, and what was found.
  [[noreturn]] void refuse(const std::string& key, const std::string& expected, const IndexedJson& got) const;
  void expect(bool is_good, const std::string& key, const std::string& expected, const IndexedJson& got) const {
    if (!is_good) refuse(key, expected, got);
  }

  // Calls visit(part) for the parts of a Sequence, whose list is named `list`, or for this part if it is none.
  template <class Visit>
  void for_each(const char* list, const Visit& visit) {
    if (type() != "Sequence") return visit(*this);
    const IndexedJson& parts = get(list);
    expect(parts.is_array(), list, "a list", parts);
    for (size_t i = 0; i < parts.size(); ++i)
      JsonPart(parts[i], context_, name_of(list) + "[" + std::to_string(i) + "]").for_each(list, visit);
    finish();
  }

 private:
  const IndexedJson& json_;
  std::string context_, name_;
  std::set<std::string, std::less<>> read_{};
};

}  // namespace gyre
