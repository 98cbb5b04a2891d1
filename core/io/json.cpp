#include "gyre/core/io/json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "gyre/core/error.h"

namespace gyre {

namespace {

template <class Json>
class StrictRules {
 public:
  StrictRules(int max_depth, std::string context, std::string what)
      : max_depth_(max_depth), context_(std::move(context)), what_(std::move(what)) {}
  bool operator()(int depth, typename Json::parse_event_t event, Json& parsed) {
    using Event = typename Json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    require(!opens || depth < max_depth_, context_, what_, " is nested too deeply");
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(parsed.template get<std::string>()).second) {
      throw Error(context_, "duplicate key ", quoted_for_message(parsed.template get<std::string>()));
    }
    return true;
  }

 private:
  int max_depth_;
  std::string context_, what_;
  std::vector<std::set<std::string>> keys_;  // keys of each object that is open, outermost first
};

template <class Json>
Json parse(std::string_view text, int max_depth, const std::string& context, const std::string& what) {
  require(text.find('\0') == text.npos, context, what, " is not valid JSON: it has a NUL byte");
  try {
    return Json::parse(text, StrictRules<Json>(max_depth, context, what));
  } catch (const nlohmann::json::exception& error) {
    throw Error(context, what, " is not valid JSON: ", cut_for_message(json_reason(error)));
  }
}

}  // namespace

IndexedJson parse_strict_json(std::string_view text, int max_depth, const std::string& context,
                              const std::string& what) {
  return parse<IndexedJson>(text, max_depth, context, what);
}

Json parse_ordered_json(std::string_view text, int max_depth, const std::string& context, const std::string& what) {
  return parse<Json>(text, max_depth, context, what);
}

size_t json_prefix_bytes(std::string_view text) {
  try {
    const auto json = IndexedJson::parse(text.begin(), text.end());
    return json.is_discarded() ? 0 : text.size() + 1;
  } catch (const nlohmann::json::parse_error& error) {
    return error.byte - 1;
  }
}

std::optional<Json> find_json(std::string_view text, int max_depth) {
  try {
    return parse_ordered_json(text, max_depth, "", "the text");
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string cut_for_message(std::string_view text) {
  constexpr size_t kMessageBytes = 200;
  if (text.size() <= kMessageBytes) return std::string(text);
  size_t end = kMessageBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // do not split a UTF-8 sequence
  return std::string(text.substr(0, end)) + "..";
}

std::string quoted_for_message(const std::string& text) { return cut_for_message(json_text(text)); }

std::string json_reason(const std::exception& error) {
  const std::string text = error.what();
  const size_t end = text.starts_with("[json.exception.") ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gyre
