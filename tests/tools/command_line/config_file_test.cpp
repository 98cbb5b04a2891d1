#include "tools/command_line/config_file.h"

#include <doctest/doctest.h>

#include "gyre/core/option_values.h"
#include "tests/errors.h"
#include "tests/tools/command_line/temporary_file.h"

using namespace gyre;

namespace {

using Values = std::vector<std::string>;

std::vector<ConfigEntry> entries(const std::string& text) {
  const TemporaryFile file(text);
  return read_config_file(file.path).entries;
}

// The error message without the file name.
std::string error(const std::string& text) {
  const TemporaryFile file(text);
  const std::string message = error_of([&] { read_config_file(file.path); });
  return message.starts_with(file.path.string()) ? message.substr(file.path.string().size()) : message;
}

}  // namespace

TEST_CASE("configuration files: values and line numbers") {
  const auto all = entries(
      "# a comment\r\n"
      "a=1\n"
      "\"b\" = 'it\\s' # and why\n"
      "c = \"tab\\t, \\u00e4 # \\\"\\\\\"\n"
      "d = [ 1, 'x y', # the first\n"
      "  three ]\n"
      "e = 0.9 0.98, 1e-9\n"
      "f\n"
      "g = []");
  REQUIRE(all.size() == 7);
  CHECK(all[0].values == Values{"1"});
  CHECK(all[1].name == "b");
  CHECK(all[1].values == Values{"it\\s"});
  CHECK(all[2].values == Values{"tab\t, \xc3\xa4 # \"\\"});
  CHECK(all[3].values == Values{"1", "x y", "three"});
  CHECK(all[4].values == Values{"0.9", "0.98", "1e-9"});
  CHECK(all[4].line == 7);
  CHECK(all[5].values == Values{"true"});
  CHECK(all[6].values.empty());
  CHECK(all[6].line == 9);
  CHECK(entries("").empty());
  CHECK(entries("\n # nothing").empty());
}

TEST_CASE("configuration files: a byte order mark is no part of the first name") {
  const auto all = entries("\xEF\xBB\xBFseed = 2\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == "seed");
  CHECK(error("\xEF\xBB\xBF[stage]\n").starts_with(":1: expected `name = value` lines"));
}

TEST_CASE("configuration files: arrays of tables") {
  const TemporaryFile file("a = 1\n\n[[stage]]  # the first\na = 2\n\nb = [3,\n4]\n[[ \"stage\" ]]\n[[other]]\na = 5");
  const ConfigFile config = read_config_file(file.path);
  REQUIRE(config.entries.size() == 1);
  REQUIRE(config.tables.size() == 3);
  CHECK(config.tables[0].name == "stage");
  CHECK(config.tables[0].line == 3);
  REQUIRE(config.tables[0].entries.size() == 2);
  CHECK(config.tables[0].entries[1].values == Values{"3", "4"});
  CHECK(config.tables[1].name == "stage");
  CHECK(config.tables[1].entries.empty());
  CHECK(config.tables[2].name == "other");
  CHECK(config.tables[2].entries[0].line == 10);
}

TEST_CASE("configuration files: errors name the line") {
  CHECK(error("a = 1\n\n[table]\n") ==
        ":3: expected `name = value` lines or an array of tables such as [[stage]], got the table [table]");
  CHECK(error("[[stage]]\na = 1\na = 2\n") == ":3: a is given twice, first in line 2");
  CHECK(error("[[]]\n") == ":1: expected a name or a value, got [[]]");
  CHECK(error("[[") == ":1: expected a name and ]] after [[");
  CHECK(error("a = 1\n[[stage]\n") == ":2: expected ]] after the name, got [[stage]");
  CHECK(error("[[stage]] a = 1\n") == ":1: expected the end of the line after ]], got [[stage]] a = 1");
  CHECK(error("a = 1\nb = 2\na = 3\n") == ":3: a is given twice, first in line 1");
  CHECK(error("a = [1,\n2]\na = 3\n") == ":3: a is given twice, first in line 1");
  CHECK(error("a = \"open\nb = 1\n") == ":1: a string has no closing \"");
  CHECK(error("\na = [1, 2\nb = 1\n") != "no error");
  CHECK(error("\na = [1, 2\n\n") == ":2: the list has no closing ]");
  CHECK(error("a =\nb = 1\n") == ":1: expected a value after =");
  CHECK(error("a b = 1\n") == ":1: expected `name = value`, got a b = 1");
  CHECK(error("a = \"\\q\"\n") == ":1: unknown escape \\q in a string; \\\\ is a backslash");
  CHECK(error("a = \"\\u12\"\n") == ":1: unknown escape \\u in a string; \\\\ is a backslash");
  CHECK(error("= 1\n") == ":1: expected a name or a value, got = 1");
}

TEST_CASE("strings of configuration files read back to the same bytes") {
  for (const std::string text : {"", "plain", "both \" and '", "a\\b#c", "line\nend\ttab\x01\x7f", "\xff\xc3\xa4"}) {
    const auto all = entries("a = " + toml_string(text) + "\n");
    REQUIRE(all.size() == 1);
    CHECK(all.front().values == Values{text});
  }
}
