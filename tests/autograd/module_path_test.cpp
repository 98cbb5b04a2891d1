#include "autograd/module_path.h"

#include <doctest/doctest.h>

using namespace gyre;

TEST_CASE("module paths: what lies in a module") {
  CHECK(in_module("a.b", "a"));
  CHECK(in_module("a", "a"));
  CHECK(in_module("a", ""));
  CHECK_FALSE(in_module("ab", "a"));
  CHECK_FALSE(in_module("a", "a.b"));
  CHECK_FALSE(in_module("", "a"));
}

TEST_CASE("module paths: names, and the first of them") {
  CHECK(names_in("") == 0);
  CHECK(names_in("encoder") == 1);
  CHECK(names_in("encoder.layers.0") == 3);
  const std::string path = "encoder.layers.0.ffn";
  CHECK(cut_path(path, 0).empty());
  CHECK(cut_path(path, 1) == "encoder");
  CHECK(cut_path(path, 3) == "encoder.layers.0");
  CHECK(cut_path(path, 4) == path);
  CHECK(cut_path(path, 9) == path);
  CHECK(cut_path("", 2).empty());
}
