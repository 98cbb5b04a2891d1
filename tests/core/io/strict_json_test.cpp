// Strict parsing of JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "tests/errors.h"

using namespace gyre;

namespace {

std::string error_of_text(const std::string& text) {
  return error_of([&] { parse_ordered_json(text, 3, "file: ", "the file"); });
}

}  // namespace

TEST_CASE("strict JSON: nesting, repeated keys and other texts are errors") {
  CHECK(error_of_text(R"({"a": [[1]]})") == "no error");
  CHECK(error_of_text(R"({"a": [[[1]]]})") == "file: the file is nested too deeply");
  CHECK(error_of_text(std::string(1'000'000, '[')) == "file: the file is nested too deeply");
  CHECK(error_of_text(R"({"a": 1, "a": 2})") == "file: duplicate key \"a\"");
  CHECK(error_of_text("{}x").starts_with("file: the file is not valid JSON: "));
  CHECK(error_of_text(std::string("{}\0", 3)) == "file: the file is not valid JSON: it has a NUL byte");
}

TEST_CASE("strict JSON: the order of keys is kept, and a text that is none has no value") {
  CHECK(parse_ordered_json(R"({"b": 1, "a": 2})", 3, "", "").dump() == R"({"b":1,"a":2})");
  CHECK(find_json("[1]") == Json{1});
  CHECK(!find_json("[1"));
  CHECK(!find_json(std::string(1'000'000, '[')));
}
