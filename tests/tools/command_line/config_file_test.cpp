#include "tools/command_line/config_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "tests/errors.h"

using namespace gyre;

namespace {

using Values = std::vector<std::string>;

struct TemporaryFile {
  Path path = std::filesystem::temp_directory_path() / concat("gyre-config-file-", getpid(), ".toml");
  explicit TemporaryFile(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  ~TemporaryFile() { std::filesystem::remove(path); }
};

std::vector<ConfigEntry> entries(const std::string& text) {
  const TemporaryFile file(text);
  return read_config_file(file.path);
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

TEST_CASE("configuration files: errors name the line") {
  CHECK(error("a = 1\n\n[table]\n") == ":3: expected plain `name = value` lines, got the table [table]");
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
