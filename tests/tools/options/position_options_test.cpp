// The command line has the options that position encodings declare, and rejects those that the chosen one does not
// read.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <variant>

#include "gyre/models/position/position.h"
#include "gyre/models/position/rope.h"
#include "tests/errors.h"
#include "tools/options/model_options.h"

using namespace gyre;

namespace {

struct PositionCall {
  CLI::App app;
  OptionTable table{app};
  PositionConfig config;

  explicit PositionCall(std::vector<std::string> words = {}) {
    table.add_options(config, /*has_cross_attention=*/true);
    std::reverse(words.begin(), words.end());
    app.parse(words);
    table.resolve();
  }
  std::string error() const {
    return error_of([&] { table.reject_unused(); });
  }
};

// Words that give the option another value than its default.
struct ChangedValue {
  std::string flag;
  using Words = std::vector<std::string>;
  Words operator()(std::monostate) const { return {}; }
  Words operator()(const std::string*) const { return {}; }
  Words operator()(const bool* value) const { return {*value ? "--no-" + flag.substr(2) : flag}; }
  Words operator()(const int64_t*) const { return {flag, "6"}; }
  Words operator()(const double*) const { return {flag, "6.5"}; }
  Words operator()(const std::vector<double>*) const { return {flag, "6.5,7"}; }
  Words operator()(const EnumPointer& value) const { return {flag, value.names().back()}; }
};

}  // namespace

TEST_CASE("every option of an encoding has a flag with its unit, default and help") {
  PositionCall call;
  const std::vector<OptionDescription> rows = call.table.describe();
  const OptionList options = call.config.options();
  for (const OptionList::Entry& entry : options.entries()) {
    const Option& option = entry.option;
    CAPTURE(option.names);
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const OptionDescription& d) {
      return std::find(d.names.begin(), d.names.end(), "--" + option.name()) != d.names.end();
    });
    REQUIRE(row != rows.end());
    CHECK(row->group == "Position encoding");
    CHECK(row->help.starts_with(option.help));
    CHECK(!option.help.empty());
    for (const std::string& name : split_list({option.names}))
      if (!name.starts_with('!')) CHECK(std::find(row->names.begin(), row->names.end(), name) != row->names.end());
    if (const auto* words = std::get_if<EnumPointer>(&option.value.field)) {
      CHECK(row->default_value == words->name());
      CHECK(row->choices == words->names());
    }
    if (const auto* number = std::get_if<int64_t*>(&option.value.field)) {
      CHECK(row->default_value == std::to_string(**number));
      CHECK(row->unit == option.unit);
    }
  }
}

TEST_CASE("every option is accepted with the encodings that read it, and an error with the others") {
  PositionConfig defaults;
  for (const std::string& encoding : position_encoding_names()) {
    defaults.encoding = encoding;
    std::set<std::string> read, disabled;
    const OptionList read_options = defaults.options_read(), options = defaults.options();
    for (const OptionList::Entry& entry : read_options.entries()) {
      read.insert(entry.option.name());
      if (!entry.option.is_read()) disabled.insert(entry.option.name());
    }
    for (const OptionList::Entry& entry : options.entries()) {
      const std::string name = entry.option.name(), flag = "--" + name;
      std::vector<std::string> words = std::visit(ChangedValue{flag}, entry.option.value.field);
      words.insert(words.end(), {"--position", encoding});
      const std::string error = PositionCall(words).error(), start = flag + " would have no effect: ";
      CAPTURE(error);
      if (!read.contains(name)) {
        CHECK(error == start + "--position is " + encoding);
      } else if (disabled.contains(name)) {
        CHECK(error.starts_with(start));
      } else {
        CHECK(error == "no error");
      }
    }
  }
}

TEST_CASE("the value of an option can disable others") {
  CHECK(PositionCall({"--position", "tupe", "--no-tupe-bias", "--bias-buckets", "16"}).error() ==
        "--bias-buckets would have no effect: --tupe-bias is false");
  CHECK(PositionCall({"--position", "t5", "--bias-buckets", "16"}).error() == "no error");
  CHECK(PositionCall({"--rope-scaling-factor", "4"}).error() ==
        "--rope-scaling-factor would have no effect: --rope-scaling is none");
  CHECK(PositionCall({"--rope-scaling", "ntk", "--rope-scaling-factor", "4", "--rope-original-length", "64"}).error() ==
        "--rope-original-length would have no effect: --rope-scaling is ntk");
  CHECK(
      PositionCall({"--rope-scaling", "yarn", "--rope-scaling-factor", "4", "--rope-original-length", "64"}).error() ==
      "no error");
  CHECK(PositionCall({"--rope-scaling", "yarn", "--rope-low-freq-factor", "2"}).error() ==
        "--rope-low-freq-factor would have no effect: --rope-scaling is yarn");
  CHECK(PositionCall({"--rope-scaling", "llama3", "--rope-low-freq-factor", "2"}).error() == "no error");
}

TEST_CASE("rows keep their options when a preset replaces the config") {
  PositionConfig config;
  CLI::App app;
  OptionTable table(app);
  table.add_options(config);
  PositionConfig preset("learned");
  preset.get<RopeOptions>().base = 500;
  config = preset;
  CHECK(contains(table.toml(), "position = \"learned\"\n"));
  CHECK(contains(table.toml(), "rope-base = 500\n"));
}
