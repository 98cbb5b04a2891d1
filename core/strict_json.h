// JSON from outside, read more strictly than the library does by itself: no key twice in one object (it would keep the
// last), no NUL byte (it would take it for the end of the text), no nesting beyond what the format has.
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace gyre {

// `deepest`: how many arrays and objects may lie in one another. `context` begins the message of every Error, `what`
// names the text: "the header".
nlohmann::json parse_strict_json(std::string_view text, int deepest, const std::string& context,
                                 const std::string& what);

// A piece of the text for a message: cut where it is very long.
std::string cut_for_message(std::string_view text);
// The same in quotes and escaped.
std::string quoted_for_message(const std::string& text);

// The message of a JSON library exception, without the exception's name and number.
std::string json_reason(const std::exception& error);
// Text of JSON whose strings may be paths, and so any bytes: what is not UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace gyre
