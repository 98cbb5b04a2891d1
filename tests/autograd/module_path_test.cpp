#include <doctest/doctest.h>

#include "gyre/autograd/inspect/tape_rows.h"

using namespace gyre;

TEST_CASE("module paths: in_module") {
  CHECK(in_module("a.b", "a"));
  CHECK(in_module("a", "a"));
  CHECK(in_module("a", ""));
  CHECK_FALSE(in_module("ab", "a"));
  CHECK_FALSE(in_module("a", "a.b"));
  CHECK_FALSE(in_module("", "a"));
}

TEST_CASE("module paths: path_depth and path_prefix") {
  CHECK(path_depth("") == 0);
  CHECK(path_depth("encoder") == 1);
  CHECK(path_depth("encoder.layers.0") == 3);
  const std::string path = "encoder.layers.0.ffn";
  CHECK(path_prefix(path, 0).empty());
  CHECK(path_prefix(path, 1) == "encoder");
  CHECK(path_prefix(path, 3) == "encoder.layers.0");
  CHECK(path_prefix(path, 4) == path);
  CHECK(path_prefix(path, 9) == path);
  CHECK(path_prefix("", 2).empty());
}
