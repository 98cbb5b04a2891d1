// Options, each declared once: its names, value, help, bounds, and what another value means for a run that resumes. A
// struct lists its options beside its fields, in a member function
//   void declare(OptionList& list);
// From the lists follow the command line, configuration files, help, shell completion, the validation of the values and
// the comparison of a run with its checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "gyre/core/option_checks.h"
#include "gyre/core/option_values.h"

namespace gyre {

// The effect of another value of an option on a run that resumes.
enum class OnResume : uint8_t {
  same_bits,      // the run computes the same
  other_bits,     // the run computes something else from here on: a warning
  other_data,     // the checkpoint's position in the data has no meaning anymore: refused
  another_model,  // the weights do not fit: refused, by comparison with config.json
};

// The value of an option, read and written as text.
struct OptionValue {
  using Words = std::vector<std::string>;
  static constexpr int kAnyNumber = 1 << 20;  // no limit on the number of words
  // The field itself, for readers and writers of config.json; empty for other types and for text of another form.
  using Field = std::variant<std::monostate, bool*, int64_t*, double*, std::string*, std::vector<double>*, EnumPointer>;

  // A field of a struct. A bool is a flag; a vector takes any number of words, or of numbers with commas between them.
  template <class T>
  OptionValue(T* field);
  OptionValue(const EnumPointer& field);
  // Text of another form. `toml` may be empty for an option that sets the values of others, which write them.
  OptionValue(int min_words, int max_words, std::function<void(const Words&)> read,
              std::function<std::string()> toml = nullptr, std::function<std::string()> text = nullptr)
      : min_words(min_words),
        max_words(max_words),
        read(std::move(read)),
        toml(std::move(toml)),
        text(std::move(text)) {}

  int min_words = 1, max_words = 1;  // 0: a flag
  std::function<void(const Words&)> read;
  std::function<std::string()> toml;
  std::function<std::string()> text;                   // text in messages and checkpoints
  std::function<std::optional<double>()> number = {};  // number to compare with the bounds; empty: none
  Words choices = {};                                  // accepted words; empty: any
  Field field = {};
};

// A flag that sets the values of other options: it calls `set` unless it is given as false.
OptionValue switch_value(std::function<void()> set);

// A field for one of these words.
OptionValue one_of(std::string* field, std::vector<std::string> choices);

// A field for some values of an enum.
template <class E>
requires std::is_enum_v<E> OptionValue one_of(E* field, const std::vector<std::type_identity_t<E>>& values);

// Likewise, for a field that may be empty. `otherwise`: the word that empties it, to leave the choice to the program.
template <class E>
OptionValue one_of(std::optional<E>* field, const std::string& otherwise,
                   const std::vector<std::type_identity_t<E>>& values = enum_values<E>());

// The meaning of an option's name in another program, where it differs from that in Gyre.
struct OtherMeaning {
  std::vector<std::string> names;  // names without dashes; those that are not noted may have a value: "cpu-threads 0"
  std::string program;
  std::string there, here;  // the meaning in the other program and in Gyre
  bool is_noted = true;     // whether the log begins with a note if the option is given by one of the names
};

struct OptionDetails {
  std::optional<Bounds> bounds = {};
  // The reason why nothing reads the option with the present values of the others; empty if something does. To give the
  // option then is an error.
  std::function<std::string()> unused = {};
  std::vector<std::string> completions = {};  // words for shell completion beside the choices
  std::string key = {};  // path in config.json: "ffn", "attention/window"; empty: the option is not part of a model
  std::string shorthand_of = {};  // the name of an option that overrides this one
  std::string supplied_by = {};   // the name of an option that makes this one not required
  bool required = false;
  bool saved = true;           // whether the option belongs to the run and not to one call
  bool applies_first = false;  // a preset: other options override what it sets, wherever they are given
  // Names of other programs, which are not read, but suggested in every command that has an option of this name; then
  // those that mean a value of the option, by the value: {"10%", {"warmup-ratio"}}.
  std::vector<std::string> also_called = {};
  std::map<std::string, std::vector<std::string>> values_called = {};
  std::vector<OtherMeaning> elsewhere = {};
};

struct Option : OptionDetails {
  Option(std::string names, OptionValue value, std::string unit, std::string help, OptionDetails details = {})
      : OptionDetails(std::move(details)),
        names(std::move(names)),
        value(std::move(value)),
        unit(std::move(unit)),
        help(std::move(help)) {}

  std::string name() const;  // name without dashes
  bool is_read() const { return !unused || unused().empty(); }

  std::string names;  // "--learn-rate,-l,--lr": the first long name is the name in files and messages
  OptionValue value;
  std::string unit;  // unit of the words: "UPDATES"
  std::string help;
};

class OptionList {
 public:
  struct Entry {
    Option option;
    OnResume on_resume;
    std::string group;  // heading in the help
  };

  // The options of a struct, to read their values.
  template <class Options>
  static OptionList of(const Options& options) {
    OptionList list;
    const_cast<Options&>(options).declare(list);  // a list for reading assigns nothing
    return list;
  }

  void group(std::string title) { group_ = std::move(title); }
  // Every option says what another value means for a run that resumes.
  void add(OnResume on_resume, Option option);
  void add(OnResume on_resume, std::string names, OptionValue value, std::string unit, std::string help,
           OptionDetails details = {}) {
    add(on_resume, {std::move(names), std::move(value), std::move(unit), std::move(help), std::move(details)});
  }
  // A flag, or one of some words.
  void add(OnResume on_resume, std::string names, OptionValue value, std::string help, OptionDetails details = {}) {
    add(on_resume, {std::move(names), std::move(value), "", std::move(help), std::move(details)});
  }
  // An option that sets the values of others, under another program's name or in another form.
  void add_shorthand(std::string names, OptionValue value, std::string unit, std::string help,
                     OptionDetails details = {}) {
    add(OnResume::same_bits,
        {std::move(names), std::move(value), std::move(unit), std::move(help), std::move(details)});
  }
  // A flag that sets the values of other options.
  void add_switch(std::string names, std::string help, std::function<void()> set) {
    add_shorthand(std::move(names), switch_value(std::move(set)), "", std::move(help));
  }
  // A value of config.json that is no option: a property of the vocabulary or of the task.
  void add_field(OnResume on_resume, std::string key, OptionValue value, std::optional<Bounds> bounds = {}) {
    add(on_resume, "", std::move(value), "", "", {.bounds = std::move(bounds), .key = std::move(key)});
  }
  // An option by its name without dashes, for a task that describes it in other words.
  Option& at(std::string_view name);
  const std::vector<Entry>& entries() const { return entries_; }
  // Throws a UsageError for a value outside of its bounds or choices.
  void check() const;

 private:
  std::vector<Entry> entries_;
  std::string group_;
};

template <class E>
requires std::is_enum_v<E> OptionValue one_of(E* field, const std::vector<std::type_identity_t<E>>& values) {
  OptionValue value(field);
  value.choices.clear();
  for (const E one : values) value.choices.emplace_back(enum_name(one));
  value.read = [field, choices = value.choices](const OptionValue::Words& words) {
    *field = parse_enum<E>("", chosen_word(words.back(), choices));
  };
  return value;
}

template <class E>
OptionValue one_of(std::optional<E>* field, const std::string& otherwise,
                   const std::vector<std::type_identity_t<E>>& values) {
  OptionValue::Words choices;
  for (const E one : values) choices.emplace_back(enum_name(one));
  if (!otherwise.empty()) choices.push_back(otherwise);
  const auto text = [field, otherwise] { return *field ? std::string(enum_name(**field)) : otherwise; };
  OptionValue value(
      1, 1,
      [field, otherwise, choices](const OptionValue::Words& words) {
        const std::string word = chosen_word(words.back(), choices);
        field->reset();
        if (word != otherwise) *field = parse_enum<E>("", word);
      },
      [text] { return text().empty() ? "" : toml_string(text()); }, text);
  value.choices = choices;
  return value;
}

template <class T>
OptionValue::OptionValue(T* field)
    : OptionValue(
          std::is_same_v<T, bool> ? 0 : 1,
          std::is_same_v<T, bool> ? 0
          : IsVector<T>::value    ? kAnyNumber
                                  : 1,
          [field](const Words& words) {
            if constexpr (IsVector<T>::value) {
              field->clear();
              const bool is_numbers = Number<typename T::value_type>;
              for (const std::string& word : is_numbers ? split_list(words) : words)
                parse_value(word, field->emplace_back());
            } else {
              parse_value(words.back(), *field);
            }
          },
          [field] { return toml_value(*field); }, [field] { return option_text(*field); }) {
  if constexpr (std::is_constructible_v<Field, T*>) this->field = field;
  if constexpr (std::is_enum_v<T>) {
    for (const auto& [value, name] : kEnumNames<T>) choices.emplace_back(name);
  } else if constexpr (Number<T>) {
    number = [field] { return std::optional(double(*field)); };
  }
}

}  // namespace gyre
