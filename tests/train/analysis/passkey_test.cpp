// The prompts of the pass key task.
#include "gyre/train/analysis/passkey.h"

#include <doctest/doctest.h>

#include "tests/errors.h"

using namespace gyre;

namespace {

int64_t count_characters_of(const std::string& text) { return int64_t(text.size()); }

}  // namespace

TEST_CASE("the pass key stands behind a sentence at its depth") {
  const PasskeyTask task("One two. Three four five. Six", 1);
  const auto [begin, key] = task.prompt(6, 0, 7);
  CHECK(key.size() == 5);
  CHECK(begin ==
        "There is an important info hidden inside a lot of irrelevant text. Find it and memorize them. I will quiz you "
        "about the important information there.\nThe pass key is " +
            key + ". Remember it. " + key +
            " is the pass key.\nOne two. Three four five. Six\nWhat is the pass key? The pass key is");
  CHECK(contains(task.prompt(6, 0.7, 7).text, "there.\nOne two.\nThe pass key is " + key));
  CHECK(contains(task.prompt(6, 1, 7).text, "\nOne two. Three four five. Six\nThe pass key is " + key));
  CHECK(contains(task.prompt(9, 0, 7).text, "\nOne two. Three four five. Six One two. Three\nWhat"));
  CHECK(task.prompt(6, 0, 8).key != key);
  CHECK(PasskeyTask("", 2).prompt(6, 0, 7).key != key);
  CHECK(error_of([] { PasskeyTask(" \n", 1); }) == "[passkey] expected a text with words, got none");
}

TEST_CASE("a prompt is as long as the limit allows") {
  const PasskeyTask task("", 1);
  for (const int64_t limit : {300, 1000, 1001, 5000}) {
    const size_t words = task.words_within(limit, 0.5, 3, count_characters_of);
    CHECK(count_characters_of(task.prompt(words, 0.5, 3).text) <= limit);
    CHECK(count_characters_of(task.prompt(words + 1, 0.5, 3).text) > limit);
  }
  CHECK(contains(error_of([&] { task.words_within(100, 0, 3, count_characters_of); }), "got room for 100"));
}

TEST_CASE("only the first number of a continuation counts") {
  CHECK(has_key(" 12345.", "12345"));
  CHECK(has_key("12345", "12345"));
  CHECK(!has_key(" 123456", "12345"));
  CHECK(!has_key(" 1, 12345", "12345"));
  CHECK(!has_key("", "12345"));
}
