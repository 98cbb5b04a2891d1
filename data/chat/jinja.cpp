#include "gyre/data/chat/jinja.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/data/text/letter_case.h"
#include "gyre/data/text/utf8.h"

namespace gyre {
namespace jinja {

constexpr int kDeepest = 100;                       // nesting of expressions and blocks
constexpr size_t kMostTokens = 2000;                // words and signs of a tag
constexpr uint64_t kMostSteps = 2'000'000;          // evaluated expressions and statements of a rendering
constexpr size_t kLongestText = size_t{32} << 20U;  // bytes of a value

// A line of a template for messages.
struct Place {
  const std::string* name;
  int line;

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw Error("[chat template] ", *name, ":", line, ": ", parts...);
  }
};

// ---- Values --------------------------------------------------------------------------------------------------------

class Value;
struct Macro;
using Names = std::map<std::string, Value, std::less<>>;

// Undefined, JSON that is shared with what it is a part of, a macro, or the fields of a namespace or a loop.
class Value {
 public:
  Value() = default;
  explicit Value(Json json) : json_(std::make_shared<const Json>(std::move(json))) {}
  explicit Value(std::shared_ptr<Names> fields) : fields_(std::move(fields)) {}
  explicit Value(std::shared_ptr<const Macro> macro) : macro_(std::move(macro)) {}
  static Value text(std::string text) { return Value(Json(std::move(text))); }

  bool is_defined() const { return json_ || fields_ || macro_; }
  bool is_json() const { return json_ != nullptr; }
  const Json& json() const { return *json_; }
  Names* fields() const { return fields_.get(); }
  const Macro* macro() const { return macro_.get(); }
  bool is_text() const { return json_ && json_->is_string(); }
  bool is_list() const { return json_ && json_->is_array(); }
  bool is_object() const { return json_ && json_->is_object(); }
  bool is_none() const { return json_ && json_->is_null(); }
  bool is_integer() const { return json_ && json_->is_number_integer(); }
  bool is_number() const { return json_ && json_->is_number(); }
  const std::string& string() const { return json_->get_ref<const std::string&>(); }
  int64_t integer() const { return json_->get<int64_t>(); }
  Value part(const Json& element) const { return Value(std::shared_ptr<const Json>(json_, &element)); }

  bool is_true() const {
    if (fields_ || macro_) return true;
    if (!json_ || json_->is_null()) return false;
    if (json_->is_boolean()) return json_->get<bool>();
    if (json_->is_number()) return json_->get<double>() != 0;
    return is_text() ? !string().empty() : !json_->empty();
  }

 private:
  explicit Value(std::shared_ptr<const Json> json) : json_(std::move(json)) {}

  std::shared_ptr<const Json> json_;
  std::shared_ptr<Names> fields_;
  std::shared_ptr<const Macro> macro_;
};

const char* kind_of(const Value& value) {
  if (value.fields() != nullptr) return "a namespace";
  if (value.macro() != nullptr) return "a macro";
  if (!value.is_json()) return "an undefined value";
  const Json& json = value.json();
  return json.is_null()     ? "None"
         : json.is_string() ? "a string"
         : json.is_array()  ? "a list"
         : json.is_object() ? "a dictionary"
                            : "a number";
}

bool equal(const Value& a, const Value& b) {
  if (a.is_json() && b.is_json()) return a.json() == b.json();
  return !a.is_json() && !b.is_json() && a.fields() == b.fields() && a.macro() == b.macro();
}

// str() of Python.
std::string text_of(const Value& value, const Place& at) {
  if (!value.is_defined()) return "";
  if (!value.is_json() || value.is_list() || value.is_object())
    at.fail("expected text, got ", kind_of(value), ", which only | tojson writes");
  const Json& json = value.json();
  if (json.is_string()) return value.string();
  if (json.is_null()) return "None";
  if (json.is_boolean()) return json.get<bool>() ? "True" : "False";
  return json.dump();
}

const std::string& string_of(const Value& value, const Place& at) {
  if (!value.is_text()) at.fail("expected a string, got ", kind_of(value));
  return value.string();
}

int64_t integer_of(const Value& value, const Place& at) {
  if (!value.is_integer()) at.fail("expected an integer, got ", kind_of(value));
  return value.integer();
}

void check_size(const std::string& text, const Place& at) {
  if (text.size() > kLongestText) at.fail("expected a text of at most ", kLongestText, " bytes");
}

Value checked_text(std::string text, const Place& at) {
  check_size(text, at);
  return Value::text(std::move(text));
}

// Fails if a value takes more memory than a text may, or is nested deeper than recursion through it should go.
void check_size(const Json& json, int depth, size_t& bytes, const Place& at) {
  bytes += sizeof(Json) + (json.is_string() ? json.get_ref<const std::string&>().size() : 0);
  if (bytes > kLongestText) at.fail("expected a value of at most ", kLongestText, " bytes");
  if (depth > kDeepest) at.fail("expected nesting of at most ", kDeepest);
  if (!json.is_structured()) return;
  for (const auto& item : json.items()) {
    if (json.is_object()) bytes += item.key().size();
    check_size(item.value(), depth + 1, bytes, at);
  }
}

Value checked(Json json, const Place& at) {
  size_t bytes = 0;
  check_size(json, 0, bytes, at);
  return Value(std::move(json));
}

// The options of json.dumps() of Python.
struct JsonForm {
  bool ascii = false, sorts = false;
  int64_t indent = -1;  // -1: one line
  std::string between_items = ", ", after_key = ": ";
};

void write_json(const Json& json, const JsonForm& form, int64_t level, std::string& text, const Place& at) {
  const auto dump = [&](const Json& value) { return value.dump(-1, ' ', form.ascii, Json::error_handler_t::replace); };
  if (json.empty() || !json.is_structured()) {
    text += dump(json);
    return;
  }
  const auto new_line = [&](int64_t deeper) {
    if (form.indent >= 0) text += "\n" + std::string(size_t(form.indent * (level + deeper)), ' ');
  };
  std::vector<std::pair<std::string, const Json*>> items;
  for (const auto& item : json.items()) items.emplace_back(json.is_object() ? item.key() : "", &item.value());
  if (form.sorts && json.is_object()) std::ranges::sort(items);
  text += json.is_object() ? '{' : '[';
  for (const auto& item : items) {
    if (&item != &items.front()) text += form.between_items;
    new_line(1);
    if (json.is_object()) text += dump(Json(item.first)) + form.after_key;
    write_json(*item.second, form, level + 1, text, at);
    check_size(text, at);
  }
  new_line(0);
  text += json.is_object() ? '}' : ']';
}

// The elements that a loop or a filter goes through: of a list, the keys of a dictionary, the characters of a string.
std::vector<Value> elements_of(const Value& value, const Place& at) {
  std::vector<Value> elements;
  if (!value.is_defined()) return elements;
  if (value.is_list()) {
    for (const Json& element : value.json()) elements.push_back(value.part(element));
  } else if (value.is_object()) {
    for (const auto& item : value.json().items()) elements.push_back(Value::text(item.key()));
  } else if (value.is_text()) {
    for (const std::string_view c : split_characters(value.string())) elements.push_back(Value::text(std::string(c)));
  } else {
    at.fail("expected a list, got ", kind_of(value));
  }
  return elements;
}

Value list_of(const std::vector<Value>& values, const Place& at) {
  auto list = Json::array();
  for (const Value& value : values) {
    if (!value.is_json()) at.fail("expected elements of a list, got ", kind_of(value));
    list.push_back(value.json());
  }
  return checked(std::move(list), at);
}

// value.name or value["name"]
Value field_of(const Value& value, const std::string& name, const Place& at) {
  if (const Names* fields = value.fields()) {
    const auto place = fields->find(name);
    return place == fields->end() ? Value() : place->second;
  }
  if (!value.is_defined())
    at.fail("expected a value with a field ", quoted_for_message(name), ", got an undefined one");
  if (!value.is_object()) return {};
  const auto place = value.json().find(name);
  return place == value.json().end() ? Value() : value.part(*place);
}

// value[key]
Value element_of(const Value& value, const Value& key, const Place& at) {
  if (key.is_text()) return field_of(value, key.string(), at);
  const auto index = integer_of(key, at);
  if (!value.is_list() && !value.is_text()) at.fail("expected a list, got ", kind_of(value));
  const auto elements = elements_of(value, at);
  const auto size = int64_t(elements.size()), from_front = index < 0 ? index + size : index;
  return from_front < 0 || from_front >= size ? Value() : elements[size_t(from_front)];
}

// value[begin:end:step] with the rules of Python.
Value slice_of(const Value& value, const std::array<Value, 3>& range, const Place& at) {
  const auto elements = elements_of(value, at);
  const auto size = int64_t(elements.size());
  const auto step = range[2].is_json() ? integer_of(range[2], at) : 1;
  if (step == 0) at.fail("expected a step other than 0");
  const auto lowest = int64_t(step > 0 ? 0 : -1), highest = step > 0 ? size : size - 1;
  const auto bound = [&](const Value& given, int64_t otherwise) {
    if (!given.is_json() || given.is_none()) return otherwise;
    const int64_t number = integer_of(given, at);
    return std::clamp(number < 0 ? number + size : number, lowest, highest);
  };
  const int64_t begin = bound(range[0], step > 0 ? 0 : size - 1), end = bound(range[1], step > 0 ? size : -1);
  std::vector<Value> chosen;
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    chosen.push_back(elements[size_t(i)]);
    if (step > size || step < -size) break;
  }
  if (!value.is_text()) return list_of(chosen, at);
  std::string text;
  for (const Value& c : chosen) text += c.string();
  return Value::text(text);
}

bool contains(const Value& whole, const Value& part, const Place& at) {
  if (whole.is_text()) return whole.string().find(string_of(part, at)) != std::string::npos;
  const auto elements = elements_of(whole, at);
  return std::ranges::any_of(elements, [&](const Value& element) { return equal(element, part); });
}

// ---- Methods, filters, tests and functions -------------------------------------------------------------------------

struct Arguments {
  std::vector<Value> values;
  Names named;
};

// The arguments of a known callable in the order of its parameters; undefined without one.
class Bound {
 public:
  explicit Bound(size_t parameters) : values_(parameters), given_(parameters) {}
  const Value& operator[](size_t i) const { return values_[i]; }
  bool has(size_t i) const { return given_[i]; }  // also if the argument is an undefined value
  void set(size_t i, const Value& value) { values_[i] = value, given_[i] = true; }

 private:
  std::vector<Value> values_;
  std::vector<bool> given_;
};

Bound bound(const std::vector<std::string>& parameters, const std::string& callable, const Arguments& given,
            const Place& at) {
  if (given.values.size() > parameters.size())
    at.fail(callable, ": expected at most ", counted(parameters.size(), "argument"), ", got ", given.values.size());
  Bound arguments(parameters.size());
  for (size_t i = 0; i < given.values.size(); ++i) arguments.set(i, given.values[i]);
  for (const auto& [name, value] : given.named) {
    const auto place = std::ranges::find(parameters, name);
    if (place == parameters.end()) at.fail(callable, ": there is no argument ", name, " that Gyre knows");
    const auto i = size_t(place - parameters.begin());
    if (arguments.has(i)) at.fail(callable, ": the argument ", name, " is given twice");
    arguments.set(i, value);
  }
  return arguments;
}

// Parameters by the name of what can be called.
using Callables = std::map<std::string, std::vector<std::string>, std::less<>>;

Bound bound(const Callables& known, const std::string& name, const std::string& callable, const Arguments& given,
            const Place& at) {
  const auto found = known.find(name);
  if (found == known.end()) at.fail("there is no ", callable, " that Gyre knows");
  return bound(found->second, callable, given, at);
}

bool is_given(const Value& argument) { return argument.is_defined() && !argument.is_none(); }

// str.strip() and its one-sided forms. characters: undefined for white space.
std::string stripped(const std::string& text, const Value& characters, bool left, bool right, const Place& at) {
  const bool has_set = is_given(characters);
  const std::u32string all = code_points(text), set = has_set ? code_points(string_of(characters, at)) : U"";
  const auto drops = [&](char32_t c) { return has_set ? set.find(c) != set.npos : is_space(c); };
  size_t begin = 0, end = all.size();
  while (left && begin < end && drops(all[begin])) ++begin;
  while (right && end > begin && drops(all[end - 1])) --end;
  return to_utf8(std::u32string_view(all).substr(begin, end - begin));
}

// str.replace(old, new, count)
Value replaced(const std::string& text, const Bound& a, const Place& at) {
  const std::string &old = string_of(a[0], at), &by = string_of(a[1], at);
  int64_t left = a.has(2) && !a[2].is_none() ? integer_of(a[2], at) : -1;
  if (old.empty()) at.fail("replace: expected a text to replace, got an empty one");
  std::string result;
  size_t begin = 0;
  for (size_t found = text.find(old); found != text.npos && left != 0; found = text.find(old, begin), --left) {
    result += text.substr(begin, found - begin) + by;
    check_size(result, at);
    begin = found + old.size();
  }
  return checked_text(result + text.substr(begin), at);
}

// str.split(sep, maxsplit)
Value split(const std::string& text, const Bound& a, const Place& at) {
  auto parts = Json::array();
  if (!is_given(a[0])) {
    if (a.has(1)) at.fail("split: expected a separator with maxsplit");
    for (const std::u32string& word : split_words(code_points(text))) parts.push_back(to_utf8(word));
    return Value(std::move(parts));
  }
  const std::string& mark = string_of(a[0], at);
  if (mark.empty()) at.fail("split: expected a separator, got an empty one");
  int64_t left = a.has(1) ? integer_of(a[1], at) : -1;
  size_t begin = 0;
  for (size_t found = text.find(mark); found != text.npos && left != 0; found = text.find(mark, begin), --left) {
    parts.push_back(text.substr(begin, found - begin));
    begin = found + mark.size();
  }
  parts.push_back(text.substr(begin));
  return Value(std::move(parts));
}

Value joined(const std::vector<Value>& values, const std::string& separator, const Place& at) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : separator) + text_of(values[i], at);
    check_size(text, at);
  }
  return Value::text(std::move(text));
}

Value items_of(const Value& value, const Place& at) {
  if (!value.is_object()) at.fail("expected a dictionary, got ", kind_of(value));
  auto items = Json::array();
  for (const auto& item : value.json().items()) items.push_back(Json::array({item.key(), item.value()}));
  return checked(std::move(items), at);
}

const Callables& string_methods() {
  static const Callables known{{"strip", {"chars"}},
                               {"lstrip", {"chars"}},
                               {"rstrip", {"chars"}},
                               {"startswith", {"prefix"}},
                               {"endswith", {"suffix"}},
                               {"split", {"sep", "maxsplit"}},
                               {"upper", {}},
                               {"lower", {}},
                               {"capitalize", {}},
                               {"join", {"iterable"}},
                               {"replace", {"old", "new", "count"}}};
  return known;
}

Value call_string_method(const std::string& text, const std::string& name, const Arguments& given, const Place& at) {
  const Bound a = bound(string_methods(), name, concat("string method ", name, "()"), given, at);
  const auto starts = [&](const Value& part) { return text.starts_with(string_of(part, at)); };
  const auto ends = [&](const Value& part) { return text.ends_with(string_of(part, at)); };
  const auto any = [&](const auto& holds) {
    const auto parts = a[0].is_list() ? elements_of(a[0], at) : std::vector{a[0]};
    return Value(Json(std::ranges::any_of(parts, holds)));
  };
  if (name == "strip") return Value::text(stripped(text, a[0], true, true, at));
  if (name == "lstrip") return Value::text(stripped(text, a[0], true, false, at));
  if (name == "rstrip") return Value::text(stripped(text, a[0], false, true, at));
  if (name == "startswith") return any(starts);
  if (name == "endswith") return any(ends);
  if (name == "split") return split(text, a, at);
  if (name == "upper") return checked_text(upper_case(text), at);
  if (name == "lower") return checked_text(lower_case(text), at);
  if (name == "capitalize") return checked_text(capitalized(text), at);
  if (name == "join") return joined(elements_of(a[0], at), text, at);
  return replaced(text, a, at);
}

const Callables& dictionary_methods() {
  static const Callables known{{"items", {}}, {"keys", {}}, {"values", {}}, {"get", {"key", "default"}}};
  return known;
}

Value call_method(const Value& value, const std::string& name, const Arguments& given, const Place& at) {
  if (value.is_text()) return call_string_method(value.string(), name, given, at);
  if (!value.is_object()) at.fail(kind_of(value), " has no method ", name, "() that Gyre knows");
  const Bound a = bound(dictionary_methods(), name, concat("dictionary method ", name, "()"), given, at);
  if (name == "items") return items_of(value, at);
  if (name == "keys") return list_of(elements_of(value, at), at);
  if (name == "get") {
    const Value found = field_of(value, string_of(a[0], at), at);
    return found.is_defined() ? found : a.has(1) ? a[1] : Value(Json());
  }
  auto values = Json::array();
  for (const Json& element : value.json()) values.push_back(element);
  return checked(std::move(values), at);
}

const Callables& tests() {
  static const Callables known{{"defined", {}},  {"undefined", {}}, {"none", {}},   {"string", {}},  {"mapping", {}},
                               {"sequence", {}}, {"iterable", {}},  {"number", {}}, {"integer", {}}, {"boolean", {}},
                               {"true", {}},     {"false", {}},     {"odd", {}},    {"even", {}},    {"equalto", {"b"}},
                               {"eq", {"b"}},    {"==", {"b"}},     {"ne", {"b"}},  {"!=", {"b"}},   {"in", {"seq"}}};
  return known;
}

bool holds_test(const Value& value, const std::string& name, const Arguments& given, const Place& at) {
  const Bound a = bound(tests(), name, concat("test ", name), given, at);
  if (name == "defined") return value.is_defined();
  if (name == "undefined") return !value.is_defined();
  if (name == "none") return value.is_none();
  if (name == "string") return value.is_text();
  if (name == "mapping") return value.is_object();
  if (name == "sequence" || name == "iterable") return value.is_text() || value.is_list() || value.is_object();
  if (name == "number") return value.is_number() || (value.is_json() && value.json().is_boolean());
  if (name == "integer") return value.is_integer();
  if (name == "boolean") return value.is_json() && value.json().is_boolean();
  if (name == "true" || name == "false") return equal(value, Value(Json(name == "true")));
  if (name == "odd" || name == "even") return (integer_of(value, at) % 2 != 0) == (name == "odd");
  if (name == "in") return contains(a[0], value, at);
  return equal(value, a[0]) == (name != "ne" && name != "!=");
}

// selectattr(attribute, test, value) and rejectattr
Value choose_by_field(const Value& value, const Bound& a, bool keeps, const Place& at) {
  std::vector<Value> chosen;
  if (!value.is_true()) return Value(Json::array());
  Arguments rest;
  if (a.has(2)) rest.values = {a[2]};
  for (const Value& element : elements_of(value, at)) {
    const Value field = field_of(element, string_of(a[0], at), at);
    const bool holds = a.has(1) ? holds_test(field, string_of(a[1], at), rest, at) : field.is_true();
    if (holds == keeps) chosen.push_back(element);
  }
  return list_of(chosen, at);
}

Value map_fields(const Value& value, const Bound& a, const Place& at) {
  if (a.has(0) || !a[1].is_text()) at.fail("map: expected attribute='..', the only form that Gyre knows");
  std::vector<Value> fields;
  for (const Value& element : elements_of(value, at)) fields.push_back(field_of(element, a[1].string(), at));
  return list_of(fields, at);
}

// tojson(ensure_ascii, indent, separators, sort_keys) of transformers
Value to_json(const Value& value, const Bound& a, const Place& at) {
  if (!value.is_json()) at.fail("tojson: expected a value, got ", kind_of(value));
  JsonForm form{.ascii = a[0].is_true(), .sorts = a[3].is_true()};
  if (is_given(a[1])) {
    form.indent = std::max<int64_t>(integer_of(a[1], at), 0);
    if (form.indent > 100) at.fail("tojson: expected an indent of at most 100, got ", form.indent);
    form.between_items = ",";
  }
  if (is_given(a[2])) {
    const auto separators = elements_of(a[2], at);
    if (separators.size() != 2) at.fail("tojson: expected two separators, got ", separators.size());
    form.between_items = string_of(separators[0], at);
    form.after_key = string_of(separators[1], at);
  }
  std::string text;
  write_json(value.json(), form, 0, text, at);
  return checked_text(std::move(text), at);
}

const Callables& filters() {
  static const Callables known{{"trim", {"chars"}},
                               {"length", {}},
                               {"count", {}},
                               {"tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}},
                               {"default", {"default_value", "boolean"}},
                               {"d", {"default_value", "boolean"}},
                               {"join", {"d"}},
                               {"upper", {}},
                               {"lower", {}},
                               {"capitalize", {}},
                               {"replace", {"old", "new", "count"}},
                               {"first", {}},
                               {"last", {}},
                               {"list", {}},
                               {"items", {}},
                               {"string", {}},
                               {"safe", {}},
                               {"reverse", {}},
                               {"selectattr", {"attribute", "test", "value"}},
                               {"rejectattr", {"attribute", "test", "value"}},
                               {"map", {"filter", "attribute"}}};
  return known;
}

Value filtered(const Value& value, const std::string& name, const Arguments& given, const Place& at) {
  const Bound a = bound(filters(), name, concat("filter ", name), given, at);
  const auto end = [&](bool first) {
    const auto elements = elements_of(value, at);
    return elements.empty() ? Value() : first ? elements.front() : elements.back();
  };
  if (name == "trim") return Value::text(stripped(text_of(value, at), a[0], true, true, at));
  if (name == "length" || name == "count") {
    if (value.is_object()) return Value(Json(value.json().size()));
    return Value(Json(elements_of(value, at).size()));
  }
  if (name == "tojson") return to_json(value, a, at);
  if (name == "default" || name == "d") {
    const bool is_missing = !value.is_defined() || (a[1].is_true() && !value.is_true());
    return !is_missing ? value : a.has(0) ? a[0] : Value::text("");
  }
  if (name == "join") return joined(elements_of(value, at), a[0].is_json() ? string_of(a[0], at) : "", at);
  if (name == "upper") return checked_text(upper_case(text_of(value, at)), at);
  if (name == "lower") return checked_text(lower_case(text_of(value, at)), at);
  if (name == "capitalize") return checked_text(capitalized(text_of(value, at)), at);
  if (name == "replace") return replaced(text_of(value, at), a, at);
  if (name == "first" || name == "last") return end(name == "first");
  if (name == "list") return list_of(elements_of(value, at), at);
  if (name == "items") return items_of(value, at);
  if (name == "string") return Value::text(text_of(value, at));
  if (name == "safe") return value;
  if (name == "reverse") return slice_of(value, {Value(), Value(), Value(Json(-1))}, at);
  if (name == "map") return map_fields(value, a, at);
  return choose_by_field(value, a, name == "selectattr", at);
}

Value range(const Bound& a, const Place& at) {
  constexpr int64_t kMost = 100'000;
  const auto first = integer_of(a[0], at);
  const bool has_begin = a.has(1);
  const auto begin = has_begin ? first : 0, end = has_begin ? integer_of(a[1], at) : first,
             step = a.has(2) ? integer_of(a[2], at) : 1;
  if (step != 1 && step != -1) at.fail("range: expected a step of 1 or -1");
  if (begin < -kMost || begin > kMost || end < -kMost || end > kMost) at.fail("range: expected at most ", kMost);
  auto numbers = Json::array();
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) numbers.push_back(i);
  return Value(std::move(numbers));
}

const Callables& functions() {
  static const Callables known{{"raise_exception", {"message"}}, {"range", {"start", "stop", "step"}}};
  return known;
}

Value call_function(const std::string& name, Arguments given, const Place& at) {
  if (name == "namespace" || name == "dict") {
    if (!given.values.empty()) at.fail("function ", name, "(): expected arguments with names");
    if (name == "namespace") return Value(std::make_shared<Names>(std::move(given.named)));
    auto object = Json::object();
    for (const auto& [key, value] : given.named) object[key] = value.is_json() ? value.json() : Json();
    return checked(std::move(object), at);
  }
  const Bound a = bound(functions(), name, concat("function ", name, "()"), given, at);
  if (name == "raise_exception") at.fail(text_of(a[0], at));
  return range(a, at);
}

Value calculated(const std::string& op, const Value& a, const Value& b, const Place& at) {
  if (op == "+" && a.is_text() && b.is_text()) return checked_text(a.string() + b.string(), at);
  if (op == "+" && a.is_list() && b.is_list()) {
    Json all = a.json();
    all.insert(all.end(), b.json().begin(), b.json().end());
    return checked(std::move(all), at);
  }
  if (!a.is_number() || !b.is_number())
    at.fail("expected two numbers or two strings around ", op, ", got ", kind_of(a), " and ", kind_of(b));
  if (a.is_integer() && b.is_integer() && op != "/") {
    const int64_t x = a.integer(), y = b.integer();
    int64_t result = 0;
    bool overflows = false;
    if (op == "+") overflows = __builtin_add_overflow(x, y, &result);
    if (op == "-") overflows = __builtin_sub_overflow(x, y, &result);
    if (op == "*") overflows = __builtin_mul_overflow(x, y, &result);
    if (op == "//" || op == "%") {
      if (y == 0 || y == -1) at.fail("expected another divisor than ", y);
      const bool rounds_down = x % y != 0 && (x < 0) != (y < 0);
      result = op == "%" ? x % y + (rounds_down ? y : 0) : x / y - (rounds_down ? 1 : 0);
    }
    if (overflows) at.fail("expected a smaller number");
    return Value(Json(result));
  }
  const auto x = a.json().get<double>(), y = b.json().get<double>();
  if (y == 0 && (op == "/" || op == "//" || op == "%")) at.fail("expected another divisor than 0");
  return Value(Json(op == "+"    ? x + y
                    : op == "-"  ? x - y
                    : op == "*"  ? x * y
                    : op == "/"  ? x / y
                    : op == "//" ? std::floor(x / y)
                                 : x - y * std::floor(x / y)));
}

bool compared(const std::string& op, const Value& a, const Value& b, const Place& at) {
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  if (op == "in") return contains(b, a, at);
  if (op == "not in") return !contains(b, a, at);
  if (!(a.is_number() && b.is_number()) && !(a.is_text() && b.is_text()))
    at.fail("expected two numbers or two strings around ", op, ", got ", kind_of(a), " and ", kind_of(b));
  const Json &x = a.json(), &y = b.json();
  return op == "<" ? x < y : op == "<=" ? x <= y : op == ">" ? x > y : x >= y;
}

// ---- The text as parts: data, {{ expressions }} and {% statements %} -----------------------------------------------

struct Token {
  enum class Kind : uint8_t { name, text, integer, real, sign, end };
  Kind kind = Kind::end;
  std::string text{};
  int line = 1;
};

struct Part {
  enum class Kind : uint8_t { data, output, statement };
  Kind kind = Kind::data;
  std::string data{};
  std::vector<Token> tokens{};  // with a last one of Kind::end
  int line = 1;
};

constexpr std::string_view kWhite = " \t\r\n\f\v";

bool is_name_character(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(const std::string& name, std::string text) : name_(name), text_(std::move(text)) {}

  std::vector<Part> parts() {
    while (at_ < text_.size()) {
      size_t open = text_.find('{', at_);
      while (open != text_.npos && std::string_view("{%#").find(next(open + 1)) == std::string_view::npos)
        open = text_.find('{', open + 1);
      open = std::min(open, text_.size());
      add_data(open);
      move_to(open);
      if (open == text_.size()) break;
      const char kind = next(open + 1);
      if (kind == '#') {
        skip_comment();
      } else {
        read_tag(kind == '{' ? Part::Kind::output : Part::Kind::statement);
      }
    }
    return std::move(parts_);
  }

 private:
  char next(size_t at) const { return at < text_.size() ? text_[at] : ' '; }
  bool holds(std::string_view what) const { return std::string_view(text_).substr(at_).starts_with(what); }
  Place place() const { return {&name_, line_}; }
  void move_to(size_t at) {
    line_ += int(std::count(text_.begin() + ptrdiff_t(at_), text_.begin() + ptrdiff_t(at), '\n'));
    at_ = at;
  }

  // The text before a tag at `end`. lstrip_blocks: without the white space between the beginning of a line and the tag.
  void add_data(size_t end) {
    std::string data = text_.substr(at_, end - at_);
    const bool is_tag = end < text_.size(), is_output = is_tag && next(end + 1) == '{';
    if (is_tag && next(end + 2) == '-') {
      data.resize(data.find_last_not_of(kWhite) + 1);  // 0 if there is nothing else
    } else if (is_tag && !is_output && next(end + 2) != '+') {
      const size_t line = data.rfind('\n') + 1;  // 0 if there is none
      const bool begins_line = line > 0 || at_ == 0 || text_[at_ - 1] == '\n';
      if (begins_line && data.find_first_not_of(kWhite, line) == data.npos) data.resize(line);
    }
    if (!data.empty()) parts_.push_back({.kind = Part::Kind::data, .data = std::move(data), .line = line_});
  }

  // Goes past the end of a tag. trim_blocks: past the line end behind it, too.
  void close(size_t end, char sign, bool is_output) {
    move_to(end);
    if (sign == '-') {
      move_to(std::min(text_.size(), text_.find_first_not_of(kWhite, at_)));
    } else if (sign != '+' && !is_output && next(at_) == '\n') {
      move_to(at_ + 1);
    }
  }

  void skip_comment() {
    const size_t end = text_.find("#}", at_ + 2);
    if (end == text_.npos) place().fail("expected the end of a comment, #}");
    close(end + 2, end > at_ + 2 ? text_[end - 1] : ' ', false);
  }

  void read_tag(Part::Kind kind) {
    const bool is_output = kind == Part::Kind::output;
    const std::string end = is_output ? "}}" : "%}";
    Part part{.kind = kind, .line = line_};
    move_to(at_ + 2);
    if (next(at_) == '-' || next(at_) == '+') move_to(at_ + 1);
    for (int open = 0;;) {
      move_to(std::min(text_.size(), text_.find_first_not_of(kWhite, at_)));
      if (at_ == text_.size()) place().fail("expected the end of a tag, ", end);
      const bool has_sign = holds("-" + end) || (!is_output && holds("+" + end));
      if (open == 0 && (has_sign || holds(end))) {
        part.tokens.push_back({.line = line_});
        close(at_ + (has_sign ? 3 : 2), has_sign ? text_[at_] : ' ', is_output);
        break;
      }
      part.tokens.push_back(token());
      if (part.tokens.size() > kMostTokens) place().fail("expected a tag of at most ", kMostTokens, " words");
      const Token& last = part.tokens.back();
      if (last.kind != Token::Kind::sign) continue;
      if (std::string_view("([{").find(last.text) != std::string_view::npos) ++open;
      if (std::string_view(")]}").find(last.text) != std::string_view::npos && --open < 0)
        place().fail("unexpected ", last.text);
    }
    parts_.push_back(std::move(part));
  }

  Token token() {
    const char c = text_[at_];
    if (c == '\'' || c == '"') return string_token(c);
    if (is_name_character(c)) return word_token();
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "//", "**"})
      if (holds(sign)) return sign_token(sign);
    if (std::string_view("<>=+-*/%~|()[]{}:,.").find(c) == std::string_view::npos)
      place().fail("unexpected ", quoted_for_message(std::string(1, c)));
    return sign_token(std::string_view(text_).substr(at_, 1));
  }

  Token sign_token(std::string_view sign) {
    Token token{Token::Kind::sign, std::string(sign), line_};
    move_to(at_ + sign.size());
    return token;
  }

  Token word_token() {
    const bool is_number = is_digit(text_[at_]);
    size_t end = at_;
    while (end < text_.size() && is_name_character(text_[end])) ++end;
    bool is_real = false;
    if (is_number && next(end) == '.' && is_digit(next(end + 1))) {
      is_real = true;
      for (++end; end < text_.size() && is_digit(text_[end]);) ++end;
    }
    Token token{!is_number ? Token::Kind::name
                : is_real  ? Token::Kind::real
                           : Token::Kind::integer,
                text_.substr(at_, end - at_), line_};
    const bool is_plain = token.text.find_first_not_of("0123456789.") == token.text.npos;
    if (is_number && (!is_plain || token.text.size() > 18)) place().fail("expected a number, got ", token.text);
    move_to(end);
    return token;
  }

  Token string_token(char quote) {
    Token token{Token::Kind::text, "", line_};
    size_t i = at_ + 1;
    for (; i < text_.size() && text_[i] != quote; ++i) {
      if (text_[i] != '\\') {
        token.text += text_[i];
        continue;
      }
      const char c = next(++i);
      constexpr std::string_view kEscaped = "nrt\\'\"", kMeant = "\n\r\t\\'\"";
      if (c == 'u' || c == 'x') {
        const size_t digits = c == 'u' ? 4 : 2;
        const std::string code = text_.substr(std::min(text_.size(), i + 1), digits);
        if (code.size() < digits || code.find_first_not_of("0123456789abcdefABCDEF") != code.npos)
          place().fail("expected ", digits, " hexadecimal digits after \\", c);
        append_utf8(token.text, char32_t(std::strtoul(code.c_str(), nullptr, 16)));
        i += digits;
      } else if (const size_t known = kEscaped.find(c); known != kEscaped.npos) {
        token.text += kMeant[known];
      } else {
        (token.text += '\\') += c;
      }
    }
    if (i >= text_.size()) place().fail("expected the end of a string, ", quote);
    move_to(i + 1);
    return token;
  }

  const std::string& name_;
  std::string text_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<Part> parts_;
};

// ---- Expressions and statements as functions -----------------------------------------------------------------------

struct Rendering {
  RenderedText result;
  uint64_t steps = 0;
  int captures = 0;  // depth of macros and of {% set %} with a text, whose text is not the text of the template
};

struct Scope {
  Rendering& rendering;
  const Scope* outer = nullptr;
  Names names{};

  Value find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
      if (const auto place = scope->names.find(name); place != scope->names.end()) return place->second;
    return {};
  }
};

enum class Flow : uint8_t { next, leave, again };  // what follows a statement: the next one, `break` or `continue`

using Expression = std::function<Value(Scope&)>;
using Statement = std::function<Flow(Scope&)>;
using Statements = std::vector<Statement>;

void count_step(Scope& scope, const Place& at) {
  if (++scope.rendering.steps > kMostSteps)
    at.fail("expected a template that ends, got more than ", kMostSteps, " steps");
}

Flow run(const Statements& statements, Scope& scope) {
  for (const Statement& statement : statements)
    if (const Flow flow = statement(scope); flow != Flow::next) return flow;
  return Flow::next;
}

void write(Scope& scope, const std::string& text, const Place& at) {
  std::string& all = scope.rendering.result.text;
  if (all.size() + text.size() > kLongestText) at.fail("expected a text of at most ", kLongestText, " bytes");
  all += text;
}

// The text that statements write, apart from the text of the template.
std::string captured(const Statements& statements, Scope& scope, const Place& at) {
  Rendering& rendering = scope.rendering;
  if (++rendering.captures > kDeepest) at.fail("expected nesting of at most ", kDeepest);
  std::string outer = std::exchange(rendering.result.text, "");
  run(statements, scope);
  --rendering.captures;
  return std::exchange(rendering.result.text, std::move(outer));
}

struct Macro {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<Expression> defaults;  // empty: none
  Statements body;

  // It sees the names of the outermost scope.
  Value call(const Arguments& arguments, Scope& scope, const Place& at) const {
    const Scope* globals = &scope;
    while (globals->outer != nullptr) globals = globals->outer;
    Scope inner{scope.rendering, globals};
    const Bound given = bound(parameters, concat("macro ", name, "()"), arguments, at);
    for (size_t i = 0; i < parameters.size(); ++i) {
      const bool is_given = i < arguments.values.size() || arguments.named.contains(parameters[i]);
      inner.names[parameters[i]] = !is_given && defaults[i] ? defaults[i](inner) : given[i];
    }
    return Value::text(captured(body, inner, at));
  }
};

class ExpressionParser {
 public:
  ExpressionParser(const std::string& name, const std::vector<Token>& tokens, size_t first, int depth)
      : name_(name), tokens_(tokens), at_(first), depth_(depth) {}

  const Token& peek() const { return tokens_[at_]; }
  Place place() const { return {&name_, peek().line}; }
  bool is_sign(std::string_view text) const { return peek().kind == Token::Kind::sign && peek().text == text; }
  bool is_name(std::string_view text) const { return peek().kind == Token::Kind::name && peek().text == text; }
  bool take_sign(std::string_view text) { return is_sign(text) && (++at_, true); }
  bool take_name(std::string_view text) { return is_name(text) && (++at_, true); }
  void expect_sign(std::string_view text) {
    if (!take_sign(text)) place().fail("expected ", text, ", got ", shown());
  }
  void expect_name(std::string_view text) {
    if (!take_name(text)) place().fail("expected ", text, ", got ", shown());
  }
  std::string name() {
    if (peek().kind != Token::Kind::name) place().fail("expected a name, got ", shown());
    return tokens_[at_++].text;
  }
  void expect_end() const {
    if (peek().kind != Token::Kind::end) place().fail("unexpected ", shown());
  }

  // An expression with `a if b else c`, or a list without brackets (`1, 2`) if `with_list`.
  Expression expression(bool with_list = false) {
    Expression first = choice();
    if (!with_list || !is_sign(",")) return first;
    std::vector<Expression> all{std::move(first)};
    while (take_sign(",")) all.push_back(choice());
    return list(std::move(all));
  }

  // Without `if`, which follows the list of a loop.
  Expression without_choice() { return either(); }

 private:
  // Nesting is counted where expressions nest.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser) : depth_(parser.depth_) {
      if (++depth_ > kDeepest) parser.place().fail("expected nesting of at most ", kDeepest);
    }
    ~Nesting() { --depth_; }

   private:
    int& depth_;
  };

  std::string shown() const {
    return peek().kind == Token::Kind::end ? "the end of the tag" : quoted_for_message(peek().text);
  }

  Expression choice() {
    const Nesting nesting(*this);
    Expression value = either();
    while (take_name("if")) {
      Expression condition = either(), otherwise;
      if (take_name("else")) otherwise = choice();
      value = [value = std::move(value), condition, otherwise](Scope& scope) {
        if (condition(scope).is_true()) return value(scope);
        return otherwise ? otherwise(scope) : Value();
      };
    }
    return value;
  }

  Expression either() {
    Expression left = both();
    while (take_name("or")) {
      left = [left = std::move(left), right = both()](Scope& scope) {
        Value value = left(scope);
        return value.is_true() ? value : right(scope);
      };
    }
    return left;
  }

  Expression both() {
    Expression left = negation();
    while (take_name("and")) {
      left = [left = std::move(left), right = negation()](Scope& scope) {
        Value value = left(scope);
        return value.is_true() ? right(scope) : value;
      };
    }
    return left;
  }

  Expression negation() {
    if (!take_name("not")) return comparison();
    const Nesting nesting(*this);
    return [value = negation()](Scope& scope) { return Value(Json(!value(scope).is_true())); };
  }

  // a < b < c compares neighbors.
  Expression comparison() {
    Expression first = sum();
    std::vector<std::pair<std::string, Expression>> others;
    const Place at = place();
    for (std::string op = comparison_sign(); !op.empty(); op = comparison_sign()) others.emplace_back(op, sum());
    if (others.empty()) return first;
    return [first, others, at](Scope& scope) {
      Value left = first(scope);
      for (const auto& [op, other] : others) {
        Value right = other(scope);
        if (!compared(op, left, right, at)) return Value(Json(false));
        left = std::move(right);
      }
      return Value(Json(true));
    };
  }

  std::string comparison_sign() {
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"})
      if (take_sign(sign)) return std::string(sign);
    if (take_name("in")) return "in";
    const bool negates = is_name("not") && tokens_[at_ + 1].kind == Token::Kind::name && tokens_[at_ + 1].text == "in";
    if (!negates) return "";
    at_ += 2;
    return "not in";
  }

  Expression sum() {
    Expression left = concatenation();
    while (is_sign("+") || is_sign("-")) left = operation(std::move(left), &ExpressionParser::concatenation);
    return left;
  }

  Expression concatenation() {
    Expression left = product();
    while (is_sign("~")) {
      const Place at = place();
      ++at_;
      left = [left = std::move(left), right = product(), at](Scope& scope) {
        std::string text = text_of(left(scope), at);
        return checked_text(text + text_of(right(scope), at), at);
      };
    }
    return left;
  }

  Expression product() {
    Expression left = sign();
    while (is_sign("*") || is_sign("/") || is_sign("//") || is_sign("%"))
      left = operation(std::move(left), &ExpressionParser::sign);
    return left;
  }

  Expression operation(Expression left, Expression (ExpressionParser::*parse)()) {
    const Place at = place();
    const std::string op = tokens_[at_++].text;
    return [left = std::move(left), right = (this->*parse)(), op, at](Scope& scope) {
      const Value a = left(scope);
      return calculated(op, a, right(scope), at);
    };
  }

  Expression sign() { return with_filters(signed_value()); }

  Expression signed_value() {
    const Place at = place();
    if (take_sign("-")) {
      const Nesting nesting(*this);
      return [value = signed_value(), at](Scope& scope) { return calculated("-", Value(Json(0)), value(scope), at); };
    }
    if (take_sign("+")) return signed_value();
    return with_parts(primary());
  }

  Expression counted(Expression value, const Place& at) {
    return [value = std::move(value), at](Scope& scope) {
      count_step(scope, at);
      return value(scope);
    };
  }

  Expression primary() {
    const Place at = place();
    const Token token = tokens_[at_];
    const auto constant = [](Json json) { return [value = Value(std::move(json))](Scope&) { return value; }; };
    if (token.kind == Token::Kind::end) at.fail("expected an expression, got ", shown());
    ++at_;
    switch (token.kind) {
      case Token::Kind::integer:
        return constant(int64_t(std::strtoll(token.text.c_str(), nullptr, 10)));
      case Token::Kind::real:
        return constant(std::strtod(token.text.c_str(), nullptr));
      case Token::Kind::text: {
        std::string text = token.text;
        while (peek().kind == Token::Kind::text) text += tokens_[at_++].text;
        return constant(text);
      }
      case Token::Kind::name:
        return name_value(token.text, at);
      default:
        break;
    }
    if (token.text == "(") {
      if (take_sign(")")) return list({});
      Expression value = expression(true);
      if (is_sign(",")) at.fail("expected a tuple without a comma at its end");
      expect_sign(")");
      return value;
    }
    if (token.text == "[") return list(values_until("]"));
    if (token.text == "{") return object(at);
    at.fail("expected an expression, got ", quoted_for_message(token.text));
  }

  Expression name_value(const std::string& name, const Place& at) {
    const auto constant = [](Json json) { return [value = Value(std::move(json))](Scope&) { return value; }; };
    if (name == "true" || name == "True") return constant(true);
    if (name == "false" || name == "False") return constant(false);
    if (name == "none" || name == "None") return constant(nullptr);
    if (!is_sign("(")) return counted([name](Scope& scope) { return scope.find(name); }, at);
    return counted(
        [name, arguments = this->arguments(), at](Scope& scope) {
          const Value own = scope.find(name);
          if (own.macro() != nullptr) return own.macro()->call(arguments(scope), scope, at);
          return call_function(name, arguments(scope), at);
        },
        at);
  }

  std::vector<Expression> values_until(std::string_view end) {
    std::vector<Expression> values;
    while (!take_sign(end)) {
      if (!values.empty()) {
        expect_sign(",");
        if (take_sign(end)) break;
      }
      values.push_back(expression());
    }
    return values;
  }

  Expression list(std::vector<Expression> values) {
    return [values = std::move(values), at = place()](Scope& scope) {
      std::vector<Value> elements;
      for (const Expression& value : values) elements.push_back(value(scope));
      return list_of(elements, at);
    };
  }

  Expression object(const Place& at) {
    std::vector<std::pair<Expression, Expression>> fields;
    while (!take_sign("}")) {
      if (!fields.empty()) expect_sign(",");
      if (take_sign("}")) break;
      Expression key = expression();
      expect_sign(":");
      fields.emplace_back(std::move(key), expression());
    }
    return [fields, at](Scope& scope) {
      auto json = Json::object();
      for (const auto& [key, field] : fields) {
        const Value value = field(scope);
        if (!value.is_json()) at.fail("expected a value of a dictionary, got ", kind_of(value));
        json[string_of(key(scope), at)] = value.json();
      }
      return checked(std::move(json), at);
    };
  }

  // (a, b, key=c)
  std::function<Arguments(Scope&)> arguments() {
    const Nesting nesting(*this);
    std::vector<std::pair<std::string, Expression>> all;
    expect_sign("(");
    while (!take_sign(")")) {
      if (!all.empty()) expect_sign(",");
      if (take_sign(")")) break;
      const bool is_named = peek().kind == Token::Kind::name && tokens_[at_ + 1].kind == Token::Kind::sign &&
                            tokens_[at_ + 1].text == "=";
      const std::string key = is_named ? peek().text : "";
      if (is_named) at_ += 2;
      all.emplace_back(key, expression());
    }
    return [all](Scope& scope) {
      Arguments arguments;
      for (const auto& [key, value] : all) {
        if (key.empty())
          arguments.values.push_back(value(scope));
        else
          arguments.named[key] = value(scope);
      }
      return arguments;
    };
  }

  // .name, .name(..), [key] and [begin:end] after a value
  Expression with_parts(Expression value) {
    for (;;) {
      const Place at = place();
      if (take_sign(".")) {
        const std::string field = name();
        if (is_sign("(")) {
          value = counted([value, field, arguments = this->arguments(),
                           at](Scope& scope) { return call_method(value(scope), field, arguments(scope), at); },
                          at);
        } else {
          value = [value = std::move(value), field, at](Scope& scope) { return field_of(value(scope), field, at); };
        }
      } else if (take_sign("[")) {
        value = subscript(std::move(value), at);
      } else if (is_sign("(")) {
        at.fail("expected the call of a function or a method, got that of a value");
      } else {
        return value;
      }
    }
  }

  Expression subscript(Expression value, const Place& at) {
    std::array<Expression, 3> bounds;
    int colons = 0;
    while (!take_sign("]")) {
      if (colons < 2 && take_sign(":")) {
        ++colons;
      } else {
        if (bounds[size_t(colons)]) at.fail("expected ] after a key, got ", shown());
        bounds[size_t(colons)] = expression();
      }
    }
    if (colons == 0) {
      if (!bounds[0]) at.fail("expected a key in []");
      return [value = std::move(value), key = bounds[0], at](Scope& scope) {
        const Value whole = value(scope);
        return element_of(whole, key(scope), at);
      };
    }
    return [value = std::move(value), bounds, at](Scope& scope) {
      std::array<Value, 3> range;
      for (size_t i = 0; i < 3; ++i)
        if (bounds[i]) range[i] = bounds[i](scope);
      return slice_of(value(scope), range, at);
    };
  }

  // | filter, is test
  Expression with_filters(Expression value) {
    for (;;) {
      const Place at = place();
      if (take_sign("|")) {
        const std::string filter = name();
        std::function<Arguments(Scope&)> given;
        if (is_sign("(")) given = arguments();
        value = counted(
            [value = std::move(value), filter, given, at](Scope& scope) {
              return filtered(value(scope), filter, given ? given(scope) : Arguments(), at);
            },
            at);
      } else if (take_name("is")) {
        value = test(std::move(value), at);
      } else {
        return value;
      }
    }
  }

  Expression test(Expression value, const Place& at) {
    const bool negates = take_name("not");
    const std::string name = this->name();
    std::function<Arguments(Scope&)> given;
    const bool follows_value = peek().kind == Token::Kind::text || peek().kind == Token::Kind::integer ||
                               is_sign("[") || (peek().kind == Token::Kind::name && name == "in");
    if (is_sign("(")) {
      given = arguments();
    } else if (follows_value) {
      given = [argument = with_parts(primary())](Scope& scope) {
        return Arguments{.values = {argument(scope)}, .named = {}};
      };
    }
    return [value = std::move(value), name, given, negates, at](Scope& scope) {
      return Value(Json(holds_test(value(scope), name, given ? given(scope) : Arguments(), at) != negates));
    };
  }

  const std::string& name_;
  const std::vector<Token>& tokens_;
  size_t at_;
  int depth_;
};

class Parser {
 public:
  Parser(const std::string& name, std::vector<Part> parts) : name_(name), parts_(std::move(parts)) {}

  Statements all() {
    Statements statements = block({});
    return statements;
  }
  bool marks_generated() const { return marks_generated_; }

 private:
  using Ends = std::vector<std::string_view>;

  std::string tag_name(const Part& part) const {
    return part.tokens.front().kind == Token::Kind::name ? part.tokens.front().text : "";
  }

  // The statements until the next tag of one of these names, which is left at at_ - 1.
  Statements block(const Ends& ends) {
    if (++depth_ > kDeepest) Place{&name_, parts_[at_ - 1].line}.fail("expected nesting of at most ", kDeepest);
    const int line = at_ > 0 ? parts_[at_ - 1].line : 1;
    Statements statements;
    while (at_ < parts_.size()) {
      const Part& part = parts_[at_++];
      const Place at{&name_, part.line};
      if (part.kind == Part::Kind::data) {
        statements.push_back([text = part.data, at](Scope& scope) {
          count_step(scope, at);
          write(scope, text, at);
          return Flow::next;
        });
      } else if (part.kind == Part::Kind::output) {
        ExpressionParser parser(name_, part.tokens, 0, depth_);
        Expression value = parser.expression(true);
        parser.expect_end();
        statements.push_back([value, at](Scope& scope) {
          write(scope, text_of(value(scope), at), at);
          return Flow::next;
        });
      } else {
        if (std::ranges::count(ends, std::string_view(tag_name(part))) > 0) {
          --depth_;
          return statements;
        }
        statements.push_back(statement(part));
      }
    }
    if (!ends.empty()) Place{&name_, line}.fail("expected {% ", ends.back(), " %}, got the end of the template");
    --depth_;
    return statements;
  }

  const Part& last() const { return parts_[at_ - 1]; }

  Statement statement(const Part& part) {
    const std::string name = tag_name(part);
    const Place at{&name_, part.line};
    if (name == "if") return condition(part);
    if (name == "for") return loop(part);
    if (name == "set") return assignment(part);
    if (name == "generation") return generation(at);
    if (name == "macro") return macro(part);
    const bool leaves = name == "break";
    if (leaves || name == "continue") {
      if (loops_ == 0) at.fail("expected ", name, " in a loop");
      return [leaves](Scope&) { return leaves ? Flow::leave : Flow::again; };
    }
    at.fail("there is no statement ", quoted_for_message(name), " here that Gyre knows");
  }

  Statement condition(const Part& first) {
    std::vector<std::pair<Expression, Statements>> cases;
    Statements otherwise;
    const Part* part = &first;
    for (std::string name = "if"; name != "endif"; name = tag_name(*part)) {
      ExpressionParser parser(name_, part->tokens, 1, depth_);
      if (name == "else") {
        parser.expect_end();
        otherwise = block({"endif"});
      } else {
        Expression test = parser.expression();
        parser.expect_end();
        cases.emplace_back(std::move(test), block({"elif", "else", "endif"}));
      }
      part = &last();
    }
    return [cases, otherwise](Scope& scope) {
      for (const auto& [test, statements] : cases)
        if (test(scope).is_true()) return run(statements, scope);
      return run(otherwise, scope);
    };
  }

  struct Loop {
    std::vector<std::string> names;
    Expression list, filter;
    Statements body, otherwise;
    Place at;

    void set_names(const Value& element, Scope& scope) const {
      if (names.size() == 1) {
        scope.names[names.front()] = element;
        return;
      }
      const auto parts = elements_of(element, at);
      if (parts.size() != names.size())
        at.fail("expected ", names.size(), " values in each element, got ", parts.size());
      for (size_t i = 0; i < names.size(); ++i) scope.names[names[i]] = parts[i];
    }

    Flow operator()(Scope& scope) const {
      std::vector<Value> elements = elements_of(list(scope), at);
      if (filter) {
        std::erase_if(elements, [&](const Value& element) {
          Scope inner{scope.rendering, &scope};
          set_names(element, inner);
          return !filter(inner).is_true();
        });
      }
      const size_t size = elements.size();
      for (size_t i = 0; i < size; ++i) {
        count_step(scope, at);
        Scope inner{scope.rendering, &scope};
        set_names(elements[i], inner);
        auto fields = std::make_shared<Names>();
        const auto set = [&](const char* name, Json value) { (*fields)[name] = Value(std::move(value)); };
        set("index", i + 1), set("index0", i), set("revindex", size - i), set("revindex0", size - i - 1);
        set("first", i == 0), set("last", i + 1 == size), set("length", size);
        if (i > 0) (*fields)["previtem"] = elements[i - 1];
        if (i + 1 < size) (*fields)["nextitem"] = elements[i + 1];
        inner.names["loop"] = Value(std::move(fields));
        if (run(body, inner) == Flow::leave) break;
      }
      return size == 0 ? run(otherwise, scope) : Flow::next;
    }
  };

  Statement loop(const Part& part) {
    ExpressionParser parser(name_, part.tokens, 1, depth_);
    Loop loop{.names = {}, .list = {}, .filter = {}, .body = {}, .otherwise = {}, .at = {&name_, part.line}};
    do {
      loop.names.push_back(parser.name());
    } while (parser.take_sign(","));
    parser.expect_name("in");
    loop.list = parser.without_choice();
    if (parser.take_name("if")) loop.filter = parser.expression();
    parser.expect_end();
    ++loops_;
    loop.body = block({"else", "endfor"});
    --loops_;
    if (tag_name(last()) == "else") loop.otherwise = block({"endfor"});
    return loop;
  }

  // {% set a = 1 %}, {% set a, b = 1, 2 %}, {% set space.a = 1 %}, {% set a %}text{% endset %}
  Statement assignment(const Part& part) {
    ExpressionParser parser(name_, part.tokens, 1, depth_);
    const Place at{&name_, part.line};
    std::vector<std::string> names{parser.name()};
    std::string field;
    if (parser.take_sign(".")) field = parser.name();
    while (field.empty() && parser.take_sign(",")) names.push_back(parser.name());
    if (field.empty() && names.size() == 1 && !parser.is_sign("=")) {
      parser.expect_end();
      return [name = names.front(), body = block({"endset"}), at](Scope& scope) {
        Scope inner{scope.rendering, &scope};
        scope.names[name] = Value::text(captured(body, inner, at));
        return Flow::next;
      };
    }
    parser.expect_sign("=");
    Expression value = parser.expression(true);
    parser.expect_end();
    return [names, field, value, at](Scope& scope) {
      if (!field.empty()) {
        const Value space = scope.find(names.front());
        if (space.fields() == nullptr) at.fail("expected a namespace, got ", kind_of(space));
        (*space.fields())[field] = value(scope);
      } else if (names.size() == 1) {
        scope.names[names.front()] = value(scope);
      } else {
        const auto parts = elements_of(value(scope), at);
        if (parts.size() != names.size()) at.fail("expected ", names.size(), " values, got ", parts.size());
        for (size_t i = 0; i < parts.size(); ++i) scope.names[names[i]] = parts[i];
      }
      return Flow::next;
    };
  }

  // {% macro name(a, b=1) %}
  Statement macro(const Part& part) {
    ExpressionParser parser(name_, part.tokens, 1, depth_);
    const std::string name = parser.name();
    auto macro = std::make_shared<Macro>();
    macro->name = name;
    parser.expect_sign("(");
    while (!parser.take_sign(")")) {
      if (!macro->parameters.empty()) parser.expect_sign(",");
      macro->parameters.push_back(parser.name());
      macro->defaults.push_back(parser.take_sign("=") ? parser.expression() : Expression());
    }
    parser.expect_end();
    const int loops = std::exchange(loops_, 0);
    macro->body = block({"endmacro"});
    loops_ = loops;
    return [name, value = Value(std::shared_ptr<const Macro>(macro))](Scope& scope) {
      scope.names[name] = value;
      return Flow::next;
    };
  }

  Statement generation(const Place& at) {
    marks_generated_ = true;
    return [body = block({"endgeneration"}), at](Scope& scope) {
      if (scope.rendering.captures > 0) at.fail("expected generation outside of macros and of the text of a variable");
      Scope inner{scope.rendering, &scope};
      const size_t begin = scope.rendering.result.text.size();
      const Flow flow = run(body, inner);
      scope.rendering.result.generated.push_back({begin, scope.rendering.result.text.size()});
      return flow;
    };
  }

  const std::string& name_;
  std::vector<Part> parts_;
  size_t at_ = 0;
  int depth_ = 0, loops_ = 0;
  bool marks_generated_ = false;
};

// Without CR before LF, and without a line end at the end of the template.
std::string normalized(std::string_view text) {
  std::string normal;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      normal += '\n';
      i += i + 1 < text.size() && text[i + 1] == '\n';
    } else {
      normal += text[i];
    }
  }
  if (normal.ends_with('\n')) normal.pop_back();
  return normal;
}

}  // namespace jinja

struct JinjaTemplate::Program {
  std::string name;  // the places in the statements refer to it
  jinja::Statements statements;
};

JinjaTemplate::JinjaTemplate(std::string name, std::string_view text) : name_(std::move(name)) {
  require(!first_invalid_utf8(text), "[chat template] ", name_, ": expected UTF-8, got other bytes");
  auto program = std::make_unique<Program>();
  program->name = name_;
  jinja::Parser parser(program->name, jinja::Lexer(program->name, jinja::normalized(text)).parts());
  program->statements = parser.all();
  marks_generated_ = parser.marks_generated();
  program_ = std::move(program);
}

JinjaTemplate::~JinjaTemplate() = default;
JinjaTemplate::JinjaTemplate(JinjaTemplate&&) noexcept = default;
JinjaTemplate& JinjaTemplate::operator=(JinjaTemplate&&) noexcept = default;

RenderedText JinjaTemplate::render(const Json& variables) const {
  jinja::Rendering rendering;
  jinja::Scope globals{rendering};
  for (const auto& item : variables.items()) globals.names[item.key()] = jinja::Value(item.value());
  jinja::run(program_->statements, globals);
  return std::move(rendering.result);
}

}  // namespace gyre
