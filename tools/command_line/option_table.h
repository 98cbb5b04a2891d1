// The options of one subcommand. Each row has a name, aliases, a unit, a default, a help text and the field that it
// sets. The same rows read the command line and --config files and write the resolved values as TOML.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/core/option_list.h"
#include "gyre/core/option_values.h"
#include "tools/command_line/command_description.h"
#include "tools/command_line/config_file.h"

// CLI11's headers are slow to compile, so only option_table.cpp and program.cpp include them.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gyre {

// Leaves `choices` and `required` unset, because only the table knows them.
OptionDescription describe(const CLI::Option& option);

class OptionTable {
 public:
  explicit OptionTable(CLI::App& app);
  // Options of no command: those of one table of a configuration file.
  OptionTable();
  OptionTable(const OptionTable&) = delete;
  ~OptionTable();

  // Adds a row. The field of the option must outlive the table.
  void add(const Option& option);
  void add(const OptionList& options);
  // Adds the rows of the options that a struct declares. `options` and the arguments of its declare() must outlive the
  // table.
  template <class Options, class... Arguments>
  void add_options(Options& options, const Arguments&... arguments) {
    OptionList list;
    options.declare(list, arguments...);
    add(list);
  }

  // Adds a row for an option that no struct declares, because it belongs to one command. names: "--learn-rate,--lr,-l";
  // the first is the name in configuration files. unit: "UPDATES", "FILE", ... for the help; the values of a "TEXT"
  // must be UTF-8. The current value of the field is the default.
  template <class T>
  void add(const std::string& names, T& field, const std::string& unit, const std::string& help) {
    add_value(names, OptionValue(&field), unit, help);
  }

  // Adds a row for a list of numbers or of enum names, separated by commas or blanks.
  template <class T>
  void add_list(const std::string& names, std::vector<T>& field, const std::string& unit, const std::string& help);

  // Adds a row for an output picture, .png or .svg.
  void add_picture(const std::string& names, Path& field, const std::string& help);

  // Adds a flag, which takes no value on the command line. A name with `!`, as in `!--no-x`, turns it off.
  void add_flag(const std::string& names, bool& field, const std::string& help);

  // Adds a shorthand for a value of other rows: `set` is called if it is given (and not as "false").
  void add_switch(const std::string& names, const std::string& help, std::function<void()> set);

  // Adds a row for one of a list of words; '_' is read as '-' (fairseq writes inverse_sqrt).
  void add_choice(const std::string& names, std::string& field, const std::vector<std::string>& choices,
                  const std::string& help);

  template <class E>
  void add_enum(const std::string& names, E& field, const std::string& help) {
    add_value(names, OptionValue(&field), "WORD", help);
  }

  static constexpr int kAnyNumber = OptionValue::kAnyNumber;

  // Adds a row with custom reading and writing. `write` may be empty for a shorthand of other rows, which write their
  // values themselves. A name without dashes adds positional arguments.
  using Assign = std::function<void(const std::vector<std::string>& values)>;
  void add_custom(const std::string& names, int min_values, int max_values, const std::string& unit,
                  const std::string& help, Assign assign, std::function<std::string()> write = nullptr);

  // Excludes the row added last from toml(), because it concerns this call and not the run.
  void not_saved() { rows_.back().not_saved = true; }

  // Likewise for the row `name`, while `omitted` returns true.
  void not_saved_if(const std::string& name, std::function<bool()> omitted);

  // Calls `also` whenever the row `name` has set its field.
  void when_set(const std::string& name, std::function<void()> also);

  // The rows that --help shows; only --help-all shows the others. Names without a row are ignored. If neither this nor
  // set_rare() is called, --help shows all rows.
  void set_common(std::vector<std::string> names) { common_ = std::move(names); }
  // The rows that --help leaves out. Names without a row are ignored. Use either this or set_common().
  void set_rare(const std::vector<std::string>& names);

  // The words that the row added last accepts, for shell completion of rows with custom reading.
  void set_completions(std::vector<std::string> words) { rows_.back().choices = std::move(words); }

  // Makes the row added last a preset: it is applied before all other rows, in whichever order they were given, so that
  // they override its values.
  void applies_first() { rows_.back().applies_first = true; }

  // Makes the row added last a shorthand for the row `name` and others. The shorthand is ignored if `name` is given in
  // a source of higher precedence, or later in the same source.
  void shorthand_of(const std::string& name) { rows_.back().shorthand_of = name; }

  // Replaces the help text of a row.
  void describe_again(const std::string& name, const std::string& help);

  // Sets the heading under which the help lists the rows added from now on.
  void group(const std::string& title) { group_ = title; }

  // Requires the row to be given, on the command line or in a file.
  void required(const std::string& name, bool is_required = true);

  // Adds --config FILE.... Files use the same names as the command line. The command line overrides files, and a later
  // file overrides an earlier one.
  void accept_config_files();

  // Adds the tables [[name]] of configuration files, which the command line cannot give. The last file that has any
  // gives all of them. If there are any, resolve() calls `read` once all other options are set. `write` returns the
  // TOML text of the tables, after that of the other options.
  using ReadTables = std::function<void(const std::vector<ConfigTable>& tables)>;
  void add_tables(const std::string& name, ReadTables read, std::function<std::string()> write);

  // If the call gives --model, no --config and none of the other required options, resolve() reads the options from the
  // file of this name in the directory --model, if it exists. The command line overrides them.
  void resume_from(const std::string& file_name) { run_file_ = file_name; }
  bool resumes_run() const { return resumes_run_; }  // after resolve(): whether it read that file
  Path given_run() const;                            // the directory --model, or empty

  // Call after parsing. Reads the configuration files, then sets the fields. Every row is applied once, with the values
  // of its source of highest precedence. Rows are applied by increasing precedence of their source, then in the order
  // in which they were given. So if several rows set the same field, the command line overrides every file, a later
  // file overrides an earlier one, and within a source the last one wins. Throws UsageError.
  void resolve();

  // Stores the words of the command line, so that given_as() knows by which of its names an option was given. Call
  // before resolve().
  void remember_words(std::vector<std::string> words) { words_ = std::move(words); }

  bool has(const std::string& name) const { return find(name) != nullptr; }
  // Whether the option was given under this name with a value other than the default. Its first name, which the files
  // of runs contain for all options, counts only on the command line.
  bool given_as(const std::string& name) const;
  // A note for each option that was given so by a name that means something else in another program.
  std::vector<std::string> notes() const;
  // Whether the option was given, on the command line or in a file.
  bool given(const std::string& name) const;
  // Likewise, but not in the file of the run that resolve() read.
  bool given_in_call(const std::string& name) const;
  // Throws UsageError if the option was given with a value other than its default but is not `read`.
  void reject_unused(const std::string& name, bool read, const std::string& reason) const;
  // Likewise for all options, by the reasons that they declare.
  void reject_unused() const;
  // The option of this command behind a key of config.json, of an object its first one; empty if there is none.
  std::string option_of_key(std::string_view key) const;
  // Likewise for all rows under a heading, none of which is read.
  void reject_group(const std::string& title, const std::string& reason) const;

  // Sets the fields from one table of a configuration file. Throws UsageError.
  void resolve(const ConfigTable& table);

  // All rows as lines `name = value`, and the tables.
  std::string toml() const;
  std::vector<std::string> names() const;  // all long spellings, with dashes
  std::vector<OptionDescription> describe() const;

 private:
  // The place of given values: the number of the source (0: the run's own file, then the --config files, then the
  // command line) and the position among the options of this source.
  struct Place {
    size_t source = 0, position = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Given {
    std::vector<std::string> values;
    Place place;
    std::string spelling;  // name as given, without dashes
    bool on_command_line = false;
  };
  struct Row {
    std::string name;  // first long name, without dashes
    CLI::Option* option = nullptr;
    Assign assign;
    std::function<std::string()> write;
    std::string default_toml;  // TOML text of the default, or of the value that a preset sets
    std::vector<std::string> choices;
    std::string key;                      // key in config.json; may be empty
    std::string shorthand_of;             // a row's name, or empty
    std::function<std::string()> unused;  // the reason why nothing reads the option; may be empty
    std::string supplied_by;              // a row's name, or empty: this row is not required if that one is given
    std::vector<OtherMeaning> elsewhere;
    bool flag = false;
    bool required = false;
    bool applies_first = false;
    bool not_saved = false;
    bool rare = false;           // only --help-all shows it
    std::optional<Given> given;  // the values in force, set by resolve()
  };
  struct Tables {
    std::string name;
    ReadTables read;
    std::function<std::string()> write;
    std::vector<ConfigTable> given;
  };

  void add_value(const std::string& names, const OptionValue& value, const std::string& unit, const std::string& help);
  Row& add_row(const std::string& names, int fewest, int most, const std::string& unit, const std::string& help);
  Row* find(const std::string& name);
  const Row* find(const std::string& name) const { return const_cast<OptionTable*>(this)->find(name); }
  std::vector<std::string> last_values(const Row& row) const;
  void take_command_line(size_t source);
  void take_file(size_t source, const Path& file);
  void take_entries(size_t source, const Path& file, const std::vector<ConfigEntry>& entries);
  void reject_unknown(const Path& file, const std::vector<ConfigEntry>& entries);
  void take_tables(const Path& file, const std::vector<ConfigTable>& tables);
  void assign_given();
  void use_values_as_defaults();
  void take_run_file();
  // A run's options override those of a preset, so another preset would change nothing.
  void require_same_presets() const;
  Path run_file() const;
  std::vector<const Row*> missing() const;  // required rows that are not given
  void require_given() const;
  std::string reason_not_to_resume() const;
  std::vector<const Row*> in_order() const;  // the given rows in the order of application

  std::unique_ptr<CLI::App> own_app_;  // nullptr if a command owns it
  CLI::App& app_;
  std::vector<Row> rows_;
  std::optional<Tables> tables_;
  std::vector<std::string> words_;
  std::vector<std::string> common_;
  std::string run_file_;  // name of the run's own file in the directory --model; empty: none
  bool resumes_run_ = false;
  std::string group_;
};

template <class T>
void OptionTable::add_list(const std::string& names, std::vector<T>& field, const std::string& unit,
                           const std::string& help) {
  OptionValue list(&field);
  list.read = [read = list.read](const std::vector<std::string>& values) { read(split_list(values)); };
  if constexpr (std::is_enum_v<T>)
    for (const auto& [value, name] : kEnumNames<T>) list.choices.emplace_back(name);
  add_value(names, list, unit, help);
}

}  // namespace gyre
