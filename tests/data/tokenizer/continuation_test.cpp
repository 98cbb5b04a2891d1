#include "gyre/data/tokenizer/continuation.h"

#include <doctest/doctest.h>

#include "gyre/data/tokenizer/byte_vocabulary.h"

using namespace gyre;

namespace {

std::vector<int32_t> ids_of(const Vocabulary& v, const std::string& text) { return v.encode(text); }

}  // namespace

TEST_CASE("continuation: the text ends before the first stop string") {
  const ByteVocabulary vocabulary;
  const std::vector<std::string> stops{"end", "\n\n"};
  const auto prompt = ids_of(vocabulary, "It ");
  Continuation text(vocabulary, prompt, stops);
  CHECK(!text.set(ids_of(vocabulary, "begins, en")));
  CHECK(text.text() == "begins, en");
  CHECK(text.settled() == 8);  // "en" may begin "end"
  CHECK(!text.set(ids_of(vocabulary, "begins, enough\n")));
  CHECK(text.settled() == 14);
  CHECK(text.set(ids_of(vocabulary, "begins, enough\n\nend")));
  CHECK(text.text() == "begins, enough");
}

TEST_CASE("continuation: a space that the vocabulary drops from the prompt is not repeated") {
  const ByteVocabulary vocabulary;
  const auto continued = [&](const std::string& encoded, const std::string& text, const std::string& prompt_text) {
    const std::vector<std::string> stops;
    Continuation continuation(vocabulary, ids_of(vocabulary, encoded), stops, prompt_text);
    continuation.set(ids_of(vocabulary, text));
    return continuation.text();
  };
  CHECK(continued("He wants", " to", "He wants ") == "to");
  CHECK(continued("He wants ", "to", "He wants ") == "to");
  CHECK(continued("He wants ", " to", "He wants ") == " to");
  CHECK(continued("He wants", " to", "He wants") == " to");
}

TEST_CASE("continuation: only whole characters are settled") {
  const ByteVocabulary vocabulary;
  const std::vector<std::string> stops;
  const std::string characters = "a\xC3\xA9\xE6\xBC\xA2\xF0\x9F\x99\x82";  // of 1, 2, 3 and 4 bytes
  const size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
  Continuation text(vocabulary, {}, stops);
  for (size_t bytes = 0; bytes <= characters.size(); ++bytes) {
    CAPTURE(bytes);
    text.set(ids_of(vocabulary, characters.substr(0, bytes)));
    CHECK(text.settled() == ends[bytes]);
  }
  text.set(ids_of(vocabulary, "a\xEF\xBF\xBD\xEF\xBF\xBD"));  // SentencePiece decodes two bytes so, until the next come
  CHECK(text.settled() == 1);
  text.set(ids_of(vocabulary,
                  "\xA9\xA9"
                  "b"));  // not UTF-8: nothing to wait for
  CHECK(text.settled() == 7);
  text.set(ids_of(vocabulary, "a\xE2\x82"));  // a character that is cut off
  CHECK(text.text() == "a\xEF\xBF\xBD");
}
