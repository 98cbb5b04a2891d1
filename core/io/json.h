// Strict parsing of JSON; the whole program parses JSON by these functions. In addition to the checks of the JSON
// library, rejects duplicate keys (the library keeps the last one), NUL bytes (the library takes them for the end of
// the text) and nesting beyond a limit.
#pragma once

#include <cstddef>
#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace gyre {

// JSON whose objects keep the order of their keys; finding a key takes linear time.
using Json = nlohmann::ordered_json;
// JSON that finds a key in logarithmic time, and sorts keys: for files that list a vocabulary.
using IndexedJson = nlohmann::json;

inline constexpr int kMaxJsonDepth = 32;  // nesting that the files of a run may have

// Parses JSON text. `max_depth` is the maximum nesting depth of arrays and objects. Throws Error for invalid JSON;
// messages begin with `context` and call the text `what` ("the header").
IndexedJson parse_strict_json(std::string_view text, int max_depth, const std::string& context,
                              const std::string& what);

// The same, with the keys of objects in the order of the text.
Json parse_ordered_json(std::string_view text, int max_depth, const std::string& context, const std::string& what);
// The JSON, or nothing if the text is none, repeats a key, or is nested too deeply.
std::optional<Json> find_json(std::string_view text, int max_depth = kMaxJsonDepth);
// The number of bytes at the beginning of the text that may begin a JSON text, whose values are not kept: all bytes for
// a part of one, one more than all for a complete one.
size_t json_prefix_bytes(std::string_view text);

// Truncates long text for use in an error message.
std::string cut_for_message(std::string_view text);
// Escapes the text as a JSON string, in quotes, and truncates it if it is long. Bytes that are not UTF-8 become U+FFFD.
std::string quoted_for_message(const std::string& text);

// The message of an exception of the JSON library, without the exception's name and number.
std::string json_reason(const std::exception& error);
// Formats JSON as text. Strings may contain any bytes, as paths do; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& json, int indent = -1);

}  // namespace gyre
