#include "tools/command_line/option_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/core/suggestions.h"
#include "gyre/data/text/utf8.h"
#include "tools/command_line/equivalents.h"
#include "tools/plots/gnuplot.h"

namespace gyre {

namespace {

// The default value as shown in the help, without quotes and brackets.
std::string shown_default(std::string toml) {
  std::erase_if(toml, [](char c) { return c == '"' || c == '[' || c == ']' || c == ','; });
  return toml;
}

// Negates a flag's value, for the spelling that turns the flag off. Other words are kept, to be rejected later.
std::string opposite(const std::string& value) {
  if (value == "true" || value == "1") return "false";
  return value == "false" || value == "0" ? "true" : value;
}

}  // namespace

OptionDescription describe(const CLI::Option& option) {
  OptionDescription d;
  for (const auto& name : option.get_snames()) d.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) d.names.push_back("--" + name);
  if (d.names.empty()) d.names.push_back(option.get_name());
  d.max_values = option.get_expected_max();
  if (d.max_values > 0) d.unit = option.get_type_name();
  d.default_value = option.get_default_str();
  d.help = option.get_description();
  d.group = option.get_group();
  return d;
}

OptionTable::OptionTable(CLI::App& app) : app_(app) {}
OptionTable::OptionTable() : own_app_(std::make_unique<CLI::App>()), app_(*own_app_) {}
OptionTable::~OptionTable() = default;

OptionTable::Row& OptionTable::add_row(const std::string& names, int fewest, int most, const std::string& unit,
                                       const std::string& help) {
  Row row;
  if (most == 0) {
    row.option = app_.add_flag(names, help);
    row.flag = true;
  } else {
    row.option = app_.add_option(names, CLI::callback_t(), help);
    row.option->type_name(unit)->expected(fewest, most);
    if (row.option->get_positional()) row.option->allow_extra_args();  // up to `most`
  }
  // The last one of repeated scalars wins, so that scripts can append options to a command line.
  row.option->multi_option_policy(most <= 1 ? CLI::MultiOptionPolicy::TakeLast : CLI::MultiOptionPolicy::TakeAll);
  row.option->group(group_.empty() ? "Options" : group_);
  row.name = row.option->get_lnames().empty() ? names : row.option->get_lnames().front();
  rows_.push_back(std::move(row));
  return rows_.back();
}

void OptionTable::add_custom(const std::string& names, int min_values, int max_values, const std::string& unit,
                             const std::string& help, Assign assign, std::function<std::string()> write) {
  Row& row = add_row(names, min_values, max_values, unit, help);
  row.assign = std::move(assign);
  row.write = std::move(write);
  if (!row.write) return;
  row.default_toml = row.write();
  if (!row.flag) row.option->default_str(shown_default(row.default_toml));
}

void OptionTable::add_picture(const std::string& names, Path& field, const std::string& help) {
  add_custom(
      names, 1, 1, "FILE", help + ", .png or .svg",
      [&field](const std::vector<std::string>& values) {
        parse_value(values.back(), field);
        picture_format(field);
      },
      [&field] { return toml_value(field); });
}

void OptionTable::add_value(const std::string& names, const OptionValue& value, const std::string& unit,
                            const std::string& help) {
  const std::string choices = value.choices.empty() ? "" : " (" + joined(value.choices) + ")";
  Assign read = value.read;
  if (unit.starts_with("TEXT")) {
    read = [assign = value.read](const std::vector<std::string>& values) {
      for (const std::string& text : values) require(!first_invalid_utf8(text), "expected UTF-8, got other bytes");
      assign(values);
    };
  }
  add_custom(names, value.min_words, value.max_words, unit, help + choices, std::move(read), value.toml);
  set_completions(value.choices);
}

void OptionTable::add(const Option& option) {
  const OptionValue& value = option.value;
  add_value(option.names, value, value.choices.empty() ? option.unit : "WORD", option.help);
  Row& row = rows_.back();
  row.choices.insert(row.choices.end(), option.completions.begin(), option.completions.end());
  row.key = option.key;
  row.shorthand_of = option.shorthand_of;
  row.supplied_by = option.supplied_by;
  row.unused = option.unused;
  row.elsewhere = option.elsewhere;
  row.required = option.required;
  row.not_saved = !option.saved;
  row.applies_first = option.applies_first;
}

void OptionTable::add(const OptionList& options) {
  for (const OptionList::Entry& entry : options.entries()) {
    if (entry.option.names.empty()) continue;  // a value of config.json
    if (!entry.group.empty()) group_ = entry.group;
    add(entry.option);
  }
}

void OptionTable::add_flag(const std::string& names, bool& field, const std::string& help) {
  add_value(names, OptionValue(&field), "", help);
}

void OptionTable::add_switch(const std::string& names, const std::string& help, std::function<void()> set) {
  add_value(names, switch_value(std::move(set)), "", help);
}

void OptionTable::add_choice(const std::string& names, std::string& field, const std::vector<std::string>& choices,
                             const std::string& help) {
  add_value(names, one_of(&field, choices), "WORD", help);
}

void OptionTable::not_saved_if(const std::string& name, std::function<bool()> omitted) {
  Row& row = *find(name);
  row.write = [write = row.write, omitted = std::move(omitted)] { return omitted() ? std::string() : write(); };
}

void OptionTable::when_set(const std::string& name, std::function<void()> also) {
  Row& row = *find(name);
  row.assign = [assign = row.assign, also = std::move(also)](const std::vector<std::string>& values) {
    assign(values);
    also();
  };
}

void OptionTable::set_rare(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (Row* row = find(name)) row->rare = true;
}

void OptionTable::required(const std::string& name, bool is_required) { find(name)->required = is_required; }

void OptionTable::describe_again(const std::string& name, const std::string& help) {
  find(name)->option->description(help);
}

void OptionTable::accept_config_files() {
  add_custom("--config,-c", 1, kAnyNumber, "FILE...",
             "read options from TOML files; later files override earlier ones, the command line overrides all",
             [](const auto&) {});
}

// The values of an option that takes a number of them within limits. Those of its last mention win, as of scalars.
std::vector<std::string> OptionTable::last_values(const Row& row) const {
  std::vector<std::string> values = row.option->results();
  const int most = row.option->get_expected_max();
  if (most <= 1 || most == kAnyNumber || row.option->get_expected_min() == most) return values;
  size_t count = values.size();
  for (size_t i = 0; i < words_.size(); ++i) {
    const size_t equals = words_[i].find('=');
    if (!words_[i].starts_with("-") || !row.option->check_name(words_[i].substr(0, equals))) continue;
    count = equals == std::string::npos ? 0 : 1;
    for (size_t next = i + 1; next < words_.size() && !words_[next].starts_with("-"); ++next) ++count;
  }
  values.erase(values.begin(), values.end() - std::ptrdiff_t(std::min(count, values.size())));
  return values;
}

void OptionTable::take_command_line(size_t source) {
  const std::vector<CLI::Option*>& order = app_.parse_order();
  for (auto& row : rows_) {
    if (row.option->empty()) continue;
    const auto last = std::find(order.rbegin(), order.rend(), row.option);
    row.given = Given{last_values(row), {source, size_t(order.rend() - last)}, row.name, true};
  }
  for (const std::string& word : words_) {
    if (!word.starts_with("--") || word.size() == 2) continue;
    const std::string name = word.substr(2, word.find('=') - 2);
    if (Row* row = find(name); row != nullptr && row->given) row->given->spelling = name;
  }
}

void OptionTable::add_tables(const std::string& name, ReadTables read, std::function<std::string()> write) {
  tables_ = Tables{name, std::move(read), std::move(write), {}};
}

void OptionTable::take_file(size_t source, const Path& file) {
  const ConfigFile config = read_config_file(file);
  take_entries(source, file, config.entries);
  take_tables(file, config.tables);
}

void OptionTable::take_tables(const Path& file, const std::vector<ConfigTable>& tables) {
  for (const ConfigTable& table : tables) {
    if (tables_ && table.name == tables_->name) continue;
    const std::string known = tables_ ? concat("; expected [[", tables_->name, "]]") : std::string();
    throw UsageError(file.string(), ":", table.line, ": unknown table [[", table.name, "]]", known);
  }
  if (!tables.empty()) tables_->given = tables;
}

void OptionTable::take_entries(size_t source, const Path& file, const std::vector<ConfigEntry>& entries) {
  reject_unknown(file, entries);
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [name, values, line] = entries[i];
    const std::string where = concat(file.string(), ":", line, ": ");
    Row* row = find(name);
    const int most = std::max(1, row->option->get_expected_max());
    if (int(values.size()) > most || (values.empty() && most < kAnyNumber))
      throw UsageError(where, name, ": expected ", most, " value(s), got ", values.size(),
                       explain_extra_value("--" + name));
    const Place place{source, i};
    if (row->given && place < row->given->place) continue;
    row->given = Given{values, place, name, false};
    if (row->flag && row->option->check_fname(name)) row->given->values = {opposite(values.front())};
  }
}

// Names all unknown options of the file in one line.
void OptionTable::reject_unknown(const Path& file, const std::vector<ConfigEntry>& entries) {
  std::vector<std::string> unknown;
  int first_line = 0;
  for (const ConfigEntry& entry : entries) {
    const Row* row = find(entry.name);
    if (row != nullptr && row->name != "config") continue;
    if (unknown.empty()) first_line = entry.line;
    unknown.push_back("--" + entry.name);
  }
  if (unknown.empty()) return;
  std::string text = unknown_options(unknown, names());
  // Names in files have no dashes.
  for (std::string before : {"unknown option --", "unknown options: --", "did you mean --", "; --"}) {
    for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at))
      text.replace(at, before.size(), before.substr(0, before.size() - 2));
  }
  throw UsageError(file.string(), ":", first_line, ": ", text);
}

std::vector<const OptionTable::Row*> OptionTable::missing() const {
  std::vector<const Row*> rows;
  for (const Row& row : rows_) {
    const bool is_supplied = !row.supplied_by.empty() && find(row.supplied_by)->given;
    if (row.required && !is_supplied && !(row.given && !row.given->values.empty())) rows.push_back(&row);
  }
  return rows;
}

// Why the options of the run in --model were not read.
std::string OptionTable::reason_not_to_resume() const {
  if (run_file_.empty() || !find("model")->given) return "";
  const std::string file = run_file().string();
  if (!std::filesystem::exists(run_file())) return concat("; ", file, " does not exist, so there is no run to resume");
  if (find("config")->given) return "";
  std::string given;
  for (const Row& row : rows_)
    if (row.required && row.given && row.name != "model") given += concat(given.empty() ? "--" : ", --", row.name);
  return given.empty() ? "" : concat("; without ", given, ", the options of the run are read from ", file);
}

void OptionTable::require_given() const {
  const std::vector<const Row*> rows = missing();
  if (rows.empty()) return;
  const std::string reason = reason_not_to_resume();
  if (rows.size() == 1)
    throw UsageError("--", rows.front()->name, " is missing: ", rows.front()->option->get_description(), reason);
  std::string names;
  for (const Row* row : rows)
    names += (row == rows.front() ? "--" : row == rows.back() ? " and --" : ", --") + row->name;
  throw UsageError(names, " are missing", reason);
}

Path OptionTable::given_run() const {
  const Row* model = find("model");
  return model != nullptr && model->given && !model->given->values.empty() ? Path(model->given->values.back()) : Path();
}

Path OptionTable::run_file() const { return given_run() / run_file_; }

void OptionTable::require_same_presets() const {
  const ConfigFile saved = read_config_file(run_file());
  for (const ConfigEntry& entry : saved.entries) {
    const Row* row = find(entry.name);
    if (row == nullptr || !row->applies_first || !row->given || entry.values == row->given->values) continue;
    throw UsageError("--", row->given->spelling, ": the run has ", joined(entry.values), ", got ",
                     joined(row->given->values), ": use the same, another --model, or --overwrite");
  }
}

// Reads the run's own options only if the call gives none of the required ones. If it gives some of them, a missing one
// is a usage error.
void OptionTable::take_run_file() {
  const Row *model = find("model"), *overwrite = find("overwrite");
  const bool alone = !find("config")->given && model->given && !(overwrite != nullptr && overwrite->given);
  if (!alone || missing().empty() || !std::filesystem::is_regular_file(run_file())) return;
  for (auto& row : rows_)
    if (row.required && row.given && &row != model) return;
  require_same_presets();
  take_file(0, run_file());
  for (auto& row : rows_)
    if (row.not_saved && row.given && !row.given->on_command_line) row.given.reset();
  resumes_run_ = true;
}

std::vector<const OptionTable::Row*> OptionTable::in_order() const {
  std::vector<const Row*> rows;
  for (const Row& row : rows_) {
    const Row* stronger = row.shorthand_of.empty() ? nullptr : find(row.shorthand_of);
    const bool yields =
        stronger != nullptr && stronger->given && row.given && row.given->place < stronger->given->place;
    if (row.given && !yields) rows.push_back(&row);
  }
  const auto weight = [](const Row* row) { return std::pair(!row->applies_first, row->given->place); };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row* a, const Row* b) { return weight(a) < weight(b); });
  return rows;
}

void OptionTable::resolve() {
  const Row* config = find("config");
  const std::vector<std::string> files = config == nullptr ? std::vector<std::string>{} : config->option->results();
  for (size_t i = 0; i < files.size(); ++i) take_file(i + 1, files[i]);
  take_command_line(files.size() + 1);
  if (!run_file_.empty()) take_run_file();
  require_given();
  assign_given();
  if (tables_ && !tables_->given.empty()) tables_->read(tables_->given);
}

void OptionTable::resolve(const ConfigTable& table) {
  take_entries(0, table.file, table.entries);
  try {
    require_given();
    assign_given();
  } catch (const UsageError& error) {
    throw UsageError(table.file.string(), ":", table.line, ": [[", table.name, "]]: ", error.what());
  }
}

// The values of a preset are defaults of the other options: a run's own file, which has the values of all options,
// gives them again.
void OptionTable::use_values_as_defaults() {
  for (Row& row : rows_)
    if (row.write && !row.applies_first) row.default_toml = row.write();
}

void OptionTable::assign_given() {
  bool is_preset = true;
  for (const Row* row : in_order()) {
    if (is_preset && !row->applies_first) use_values_as_defaults();
    is_preset = row->applies_first;
    try {
      row->assign(row->given->values);
    } catch (const Error& error) {
      throw UsageError("--", row->given->spelling, ": ", error.what());
    }
  }
}

OptionTable::Row* OptionTable::find(const std::string& name) {
  for (auto& row : rows_) {
    const auto& spellings = row.option->get_lnames();
    if (row.name == name || std::find(spellings.begin(), spellings.end(), name) != spellings.end()) return &row;
  }
  return nullptr;
}

bool OptionTable::given_as(const std::string& name) const {
  const Row* row = find(name);
  if (row == nullptr || !row->given || row->given->spelling != name) return false;
  const bool has_default_value = row->write && row->write() == row->default_toml;
  return !has_default_value && (row->given->on_command_line || name != row->name);
}

std::vector<std::string> OptionTable::notes() const {
  std::vector<std::string> notes;
  for (const Row& row : rows_)
    for (const OtherMeaning& meaning : row.elsewhere)
      for (const std::string& name : meaning.names)
        if (meaning.is_noted && given_as(name))
          notes.push_back(concat("note: --", name, ": in ", meaning.program, ": ", meaning.there,
                                 "; here: ", meaning.here, " (gyre help configuration)"));
  return notes;
}

bool OptionTable::given(const std::string& name) const { return find(name)->given.has_value(); }

bool OptionTable::given_in_call(const std::string& name) const {
  const std::optional<Given>& given = find(name)->given;
  return given && !(resumes_run_ && given->place.source == 0);
}

void OptionTable::reject_unused(const std::string& name, bool read, const std::string& reason) const {
  const Row& row = *find(name);
  if (read || !row.given || (row.write && row.write() == row.default_toml)) return;
  if (resumes_run_ && row.given->place.source == 0) return;  // nobody gave it now: the run has other options
  throw UsageError("--", row.given->spelling, " would have no effect: ", reason);
}

void OptionTable::reject_unused() const {
  for (const Row& row : rows_)
    if (const std::string reason = row.unused ? row.unused() : ""; !reason.empty())
      reject_unused(row.name, false, reason);
}

void OptionTable::reject_group(const std::string& title, const std::string& reason) const {
  for (const Row& row : rows_)
    if (row.option->get_group() == title) reject_unused(row.name, false, reason);
}

std::string OptionTable::toml() const {
  std::string text;
  for (const auto& row : rows_) {
    const std::string value = row.write && !row.not_saved ? row.write() : "";
    if (!value.empty()) text += row.name + " = " + value + "\n";
  }
  if (tables_) text += tables_->write();
  return text;
}

std::string OptionTable::option_of_key(std::string_view key) const {
  for (const Row& row : rows_) {
    const std::string_view path = row.key;
    const size_t slash = path.rfind('/');
    if (!path.empty() && (path.substr(slash + 1) == key || path.substr(0, slash) == key)) return row.name;
  }
  return "";
}

std::vector<std::string> OptionTable::names() const {
  std::vector<std::string> all;
  for (const auto& row : rows_)
    for (const auto& name : row.option->get_lnames()) all.push_back("--" + name);
  return all;
}

std::vector<OptionDescription> OptionTable::describe() const {
  std::vector<OptionDescription> all;
  const bool has_rare = std::ranges::any_of(rows_, &Row::rare);
  for (const auto& row : rows_) {
    OptionDescription& d = all.emplace_back(gyre::describe(*row.option));
    d.choices = row.choices;
    d.required = row.required;
    d.common = std::ranges::count(common_, row.name) > 0 || (has_rare && !row.rare);
    if (row.flag && row.default_toml == "true") d.default_value = "on";
  }
  return all;
}

}  // namespace gyre
