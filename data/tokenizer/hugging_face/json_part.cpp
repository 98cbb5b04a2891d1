#include "gyre/data/tokenizer/hugging_face/json_part.h"

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {

JsonPart::JsonPart(const IndexedJson& json, std::string context, std::string name)
    : json_(json), context_(std::move(context)), name_(std::move(name)) {
  if (!json.is_object()) refuse("", "an object", json);
}

const IndexedJson& JsonPart::get(const std::string& key) {
  static const IndexedJson null;
  read_.insert(key);
  const auto place = json_.find(key);
  return place == json_.end() ? null : *place;
}

std::string JsonPart::text(const std::string& key) {
  const IndexedJson& value = get(key);
  expect(value.is_string(), key, "a text", value);
  return value.get<std::string>();
}

std::string JsonPart::text(const std::string& key, const std::string& otherwise) {
  return get(key).is_null() ? otherwise : text(key);
}

bool JsonPart::flag(const std::string& key, bool otherwise) {
  const IndexedJson& value = get(key);
  expect(value.is_null() || value.is_boolean(), key, "true or false", value);
  return value.is_null() ? otherwise : value.get<bool>();
}

void JsonPart::finish() const {
  for (const auto& [key, value] : json_.items())
    if (!value.is_null() && !read_.contains(key))
      refuse(cut_for_message(key), "no such field, because Gyre does not know its meaning", value);
}

void JsonPart::refuse(const std::string& key, const std::string& expected, const IndexedJson& got) const {
  throw Error(context_, key.empty() ? name_.empty() ? "the file" : name_ : name_of(key), ": expected ", expected,
              ", got ", cut_for_message(got.dump(-1, ' ', false, IndexedJson::error_handler_t::replace)));
}

}  // namespace gyre
