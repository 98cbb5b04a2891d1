#include "gyre/core/suggestions.h"

#include <doctest/doctest.h>

using namespace gyre;

TEST_CASE("edit distance") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("learn-rate", "lern-rate") == 1);
  CHECK(edit_distance("ab", "ba") == 1);  // a swap of adjacent characters
  CHECK(edit_distance("same", "same") == 0);
}

TEST_CASE("nearest name") {
  const std::vector<std::string> names{"--learn-rate", "--lr-warmup", "--label-smoothing"};
  CHECK(closest_name("--lern-rate", names) == "--learn-rate");
  CHECK(closest_name("--label-smothing", names) == "--label-smoothing");
  CHECK(closest_name("--zzzzzzzzzzzzzz", names) == "");
  CHECK(did_you_mean("--lern-rate", names) == "; did you mean --learn-rate?");
  CHECK(did_you_mean("qqqq", names) == "");
}

TEST_CASE("a mistyped name is not another name") {
  struct {
    const char* name;
    std::vector<std::string> known;
    const char* expected;
  } const cases[] = {
      {"--eval-interval", {"--log-interval"}, ""},
      {"--nodes", {"--model"}, ""},
      {"--vocab-file", {"--vocab-size"}, ""},
      {"--bos", {"--eos"}, ""},
      {"--top-k", {"--top-p"}, ""},
      {"--beta1", {"--beta2"}, ""},
      {"--output", {"--input"}, ""},
      {"--load", {"--loss"}, ""},
      {"--retention", {"--attention"}, ""},
      {"--valid-steps", {"--valid-sets"}, ""},
      {"--modle", {"--model"}, "--model"},
      {"--maxlength", {"--max-length"}, "--max-length"},
      {"--max_lenth", {"--max-length"}, "--max-length"},
      {"--transfromer-hedas", {"--transformer-heads"}, "--transformer-heads"},
      {"glue-sst", {"glue-cola", "glue-sst2"}, "glue-sst2"},
      {"rop", {"none", "rope"}, "rope"},
  };
  for (const auto& [name, known, expected] : cases) {
    CAPTURE(name);
    CHECK(closest_name(name, known) == expected);
  }
}
