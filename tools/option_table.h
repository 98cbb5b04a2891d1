// The options of one subcommand: each row has one spelling, its aliases, a unit, a default, a line of help and the
// field it fills. The same rows read the command line, read --config files and write the resolved values as TOML.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "models/enum_names.h"
#include "tools/command_description.h"
#include "tools/option_values.h"

// The parser's own headers are slow to compile: only option_table.cpp and program.cpp see them.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gyre {

// Without choices and whether it is required, which only its table knows.
OptionDescription describe(const CLI::Option& option);

class OptionTable {
 public:
  explicit OptionTable(CLI::App& app) : app_(app) {}
  OptionTable(const OptionTable&) = delete;

  // names: "--learn-rate,--lr,-l", the first is the name in configuration files; unit: "UPDATES", "FILE", ... for the
  // help. The field's present value is the default.
  template <class T>
  void add(const std::string& names, T& field, const std::string& unit, const std::string& help);

  // The same for a list of numbers or of words for an enum, between commas or blanks.
  template <class T>
  void add_list(const std::string& names, std::vector<T>& field, const std::string& unit, const std::string& help);

  // A file to draw into, .png or .svg.
  void add_picture(const std::string& names, Path& field, const std::string& help);

  // Without a value on the command line; `!--no-x` among the names turns it off.
  void add_flag(const std::string& names, bool& field, const std::string& help);

  // Another spelling of a value of other rows: when it is given (and not as "false"), `set` runs.
  void add_switch(const std::string& names, const std::string& help, std::function<void()> set);

  // One of a list of words; '_' is read as '-' (fairseq writes inverse_sqrt).
  void add_choice(const std::string& names, std::string& field, const std::vector<std::string>& choices,
                  const std::string& help);

  template <class E>
  void add_enum(const std::string& names, E& field, const std::string& help);

  static constexpr int kAnyNumber = 1 << 20;  // of values

  // A row with its own reading and writing. write may be empty: another spelling of rows that write themselves. A name
  // without dashes: the words that stand after the options.
  using Assign = std::function<void(const std::vector<std::string>& values)>;
  void add_custom(const std::string& names, int fewest_values, int most_values, const std::string& unit,
                  const std::string& help, Assign assign, std::function<std::string()> write = nullptr);

  // The row added last is about this call and not about the run: toml() leaves it out.
  void of_this_call() { rows_.back().of_this_call = true; }

  // Of these rows --help shows those that the table has, now or later; the others stand in --help-all. Without a call
  // --help shows all rows.
  void common(std::vector<std::string> names) { common_ = std::move(names); }

  // Words that the row added last takes, for shell completion: where it has its own reading.
  void offer(std::vector<std::string> words) { rows_.back().choices = std::move(words); }

  // The word among `choices` that was given. Throws UsageError with the nearest one.
  static std::string chosen_word(const std::string& given, const std::vector<std::string>& choices);

  // The row added last is a preset: it is applied before all other rows, which change what it set, wherever each of
  // them was given.
  void applies_first() { rows_.back().applies_first = true; }

  // The row added last is short for the row `name` and for others: where `name` is given with more weight, or later
  // with the same, nothing of the shorthand counts.
  void yields_to(const std::string& name) { rows_.back().yields_to = name; }

  // Rows from here on stand under this heading in the help.
  void group(const std::string& title) { group_ = title; }

  // The row must be given, on the command line or in a file.
  void required(const std::string& name, bool is_required = true);

  // --config FILE...: the same names as the flags; the command line wins over files, a later file over an earlier one.
  void accept_config_files();

  // Where the call gives --model, no --config and none of the other required options, its options are those of the file
  // of this name in the directory --model, if there is one; the command line wins over it.
  void goes_on_from(const std::string& file_name) { own_file_ = file_name; }
  bool went_on() const { return went_on_; }  // after resolve(): it read that file

  // After parsing: reads the configuration files, then fills the fields. Every row is applied once, with the values of
  // the source of most weight; the rows follow one another by weight and then in the order in which they were given.
  // So, of several rows that set the same field, the command line beats every file, a later file an earlier one, and
  // what stands later what stands before it. Throws UsageError.
  void resolve();

  // The words of the command line, from which spelled() knows which of its names an option was given by. Before
  // resolve().
  void remember_words(std::vector<std::string> words) { words_ = std::move(words); }

  bool has(const std::string& name) const { return find(name) != nullptr; }
  // Given by this one of its names, with a value other than the default. An option's first name, by which files of runs
  // have all options, counts on the command line alone.
  bool spelled(const std::string& name) const;
  // Given in the call or in a file.
  bool given(const std::string& name) const;
  // Rejects an option that was given a value other than its default although nothing would read it.
  void reject_idle(const std::string& name, bool read, const std::string& reason) const;
  // The same for all rows under a heading, which nothing reads.
  void reject_group(const std::string& title, const std::string& reason) const;

  // Every row as `name = value`.
  std::string toml() const;
  std::vector<std::string> names() const;  // every long spelling, with its dashes
  std::vector<OptionDescription> describe() const;

 private:
  // Where values were given: in the source of that number (0: the run's own file, files from 1, then the command line),
  // as the position-th of its options.
  struct Place {
    size_t source = 0, position = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Given {
    std::vector<std::string> values;
    Place place;
    std::string spelling;  // without dashes
    bool on_command_line = false;
  };
  struct Row {
    std::string name;  // without dashes
    CLI::Option* option = nullptr;
    Assign assign;
    std::function<std::string()> write;
    std::string default_toml;
    std::vector<std::string> choices;
    std::string yields_to;  // a row's name, or nothing
    bool flag = false;
    bool required = false;
    bool applies_first = false;
    bool of_this_call = false;
    std::optional<Given> given;  // after resolve()
  };
  template <class E>
  static std::vector<std::string> enum_words();
  template <class E>
  static E chosen_enum(const std::string& names, const std::string& word);
  // The help, with the words that there are for an enum.
  template <class T>
  static std::string with_choices(const std::string& help);

  Row& add_row(const std::string& names, int fewest, int most, const std::string& unit, const std::string& help);
  Row* find(const std::string& name);
  const Row* find(const std::string& name) const { return const_cast<OptionTable*>(this)->find(name); }
  void take_command_line(size_t source);
  void take_file(size_t source, const Path& file);
  void take_own_file();
  Path own_file() const;
  std::vector<const Row*> missing() const;  // required rows that were not given
  void require_given() const;
  std::vector<const Row*> in_order() const;  // the given rows, as they are to be applied

  CLI::App& app_;
  std::vector<Row> rows_;
  std::vector<std::string> words_;
  std::vector<std::string> common_;
  std::string own_file_;  // in the directory --model; empty: none
  bool went_on_ = false;
  std::string group_;
};

template <class T>
void OptionTable::add(const std::string& names, T& field, const std::string& unit, const std::string& help) {
  Assign assign = [&field](const std::vector<std::string>& values) {
    if constexpr (IsVector<T>::value) {
      field.clear();
      for (const auto& value : values) parse_value(value, field.emplace_back());
    } else {
      parse_value(values.back(), field);
    }
  };
  add_custom(names, 1, IsVector<T>::value ? kAnyNumber : 1, unit, help, std::move(assign),
             [&field] { return toml_value(field); });
}

template <class E>
std::vector<std::string> OptionTable::enum_words() {
  std::vector<std::string> words;
  for (const auto& [value, name] : kEnumNames<E>) words.emplace_back(name);
  return words;
}

template <class E>
E OptionTable::chosen_enum(const std::string& names, const std::string& word) {
  return parse_enum<E>(names, chosen_word(word, enum_words<E>()));
}

template <class T>
std::string OptionTable::with_choices(const std::string& help) {
  if constexpr (std::is_enum_v<T>) {
    return help + " (" + enum_choices<T>() + ")";
  } else {
    return help;
  }
}

template <class T>
void OptionTable::add_list(const std::string& names, std::vector<T>& field, const std::string& unit,
                           const std::string& help) {
  const auto read = [&field, names](const std::vector<std::string>& values) {
    field.clear();
    for (const std::string& word : split_list(values)) {
      if constexpr (std::is_enum_v<T>) {
        field.push_back(chosen_enum<T>(names, word));
      } else {
        parse_value(word, field.emplace_back());
      }
    }
  };
  const auto write = [&field] {
    if constexpr (std::is_enum_v<T>) {
      std::vector<std::string> words;
      for (const T value : field) words.emplace_back(enum_name(value));
      return toml_value(words);
    } else {
      return toml_value(field);
    }
  };
  add_custom(names, 1, kAnyNumber, unit, with_choices<T>(help), read, write);
  if constexpr (std::is_enum_v<T>) offer(enum_words<T>());
}

template <class E>
void OptionTable::add_enum(const std::string& names, E& field, const std::string& help) {
  add_custom(
      names, 1, 1, "WORD", with_choices<E>(help),
      [&field, names](const std::vector<std::string>& values) { field = chosen_enum<E>(names, values.back()); },
      [&field] { return toml_value(std::string(enum_name(field))); });
  offer(enum_words<E>());
}

}  // namespace gyre
