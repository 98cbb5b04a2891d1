#include "gyre/models/hugging_face/generation_config.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"

namespace gyre {
namespace {

constexpr int kMaxDepth = 16;

[[noreturn]] void reject(const std::string& context, const char* key, const char* expected, const IndexedJson& got) {
  throw Error(context, key, ": expected ", expected, ", got ", cut_for_message(got.dump()));
}

class Reader {
 public:
  Reader(const IndexedJson& json, const std::string& context) : json_(json), context_(context) {}

  void read(const char* key, std::optional<bool>& value) const {
    const IndexedJson* found = find(key);
    if (found == nullptr) return;
    if (!found->is_boolean()) reject(context_, key, "true or false", *found);
    value = found->get<bool>();
  }
  void read(const char* key, std::optional<double>& value) const {
    const IndexedJson* found = find(key);
    if (found == nullptr) return;
    if (!found->is_number()) reject(context_, key, "a number", *found);
    value = found->get<double>();
  }
  void read(const char* key, std::optional<int64_t>& value) const {
    const IndexedJson* found = find(key);
    if (found != nullptr) value = whole_number(key, *found);
  }
  void read(const char* key, std::vector<int32_t>& ids) const {
    const IndexedJson* found = find(key);
    if (found == nullptr) return;
    if (!found->is_array()) return ids.push_back(int32_t(whole_number(key, *found)));
    for (const IndexedJson& id : *found) ids.push_back(int32_t(whole_number(key, id)));
  }

 private:
  const IndexedJson* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  int64_t whole_number(const char* key, const IndexedJson& json) const {
    const bool is_whole = json.is_number_unsigned() && json.get<uint64_t>() <= uint64_t(kMaxDimension);
    if (!is_whole) reject(context_, key, "a whole number", json);
    return json.get<int64_t>();
  }

  const IndexedJson& json_;
  const std::string& context_;
};

}  // namespace

GenerationConfig parse_generation_config(std::string_view text, const std::string& context) {
  const IndexedJson json = parse_strict_json(text, kMaxDepth, context, "the file");
  require(json.is_object(), context, "expected an object, got ", cut_for_message(json.dump()));
  const Reader reader(json, context);
  GenerationConfig config;
  reader.read("eos_token_id", config.eos);
  reader.read("do_sample", config.do_sample);
  reader.read("temperature", config.temperature);
  reader.read("top_k", config.top_k);
  reader.read("top_p", config.top_p);
  reader.read("min_p", config.min_p);
  reader.read("repetition_penalty", config.repetition_penalty);
  reader.read("max_new_tokens", config.max_new_tokens);
  return config;
}

Json generation_config_of(int32_t bos, int32_t eos, int32_t pad) {
  Json json{{"_from_model_config", true}, {"bos_token_id", bos}, {"eos_token_id", eos}};
  if (pad >= 0) json["pad_token_id"] = pad;
  return json;
}

}  // namespace gyre
