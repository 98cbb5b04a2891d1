#include <doctest/doctest.h>

#include "gyre/data/text/labeled_text.h"
#include "tests/data/text/written_text.h"
#include "tests/shared_data.h"

using namespace gyre;

namespace {

using WrittenTriplets = Written<TripletText>;

}  // namespace

TEST_CASE("triplets: JSON lines with labels, CRLF, a byte order mark, escapes, other keys") {
  const WrittenTriplets file(
      "\xEF\xBB\xBF{\"A\": \"a\\n1\", \"B\": \"b\", \"C\": \"c\", \"label\": \"C\"}\r\n"
      "  {\"id\": 7, \"label\": \"B\", \"C\": \"\\u00e9\", \"B\": \"\xC3\xA9\\t\", \"A\": \"x\"}\r\n"
      "{\"A\": \"1\", \"B\": \"2\", \"C\": \"3\", \"label\": \"B\"}");
  const TripletText text = file.read();
  REQUIRE(text.triplets().size() == 3);
  const Triplet &first = text.triplets()[0], &second = text.triplets()[1];
  CHECK(first.a == "a\n1");
  CHECK(first.nearer() == "c");
  CHECK(first.farther() == "b");
  CHECK(second.line == 2);
  CHECK(second.nearer() == "\xC3\xA9\t");
  CHECK(second.farther() == "\xC3\xA9");
  CHECK(text.describe() == file.path.string() + ": 3 triplets; nearer: 2 x B, 1 x C");
}

TEST_CASE("triplets: columns in any order, with and without labels") {
  const TripletText labeled =
      WrittenTriplets("label\tC\tid\tA\tB\r\nC\tfar \"x\"\t1\t a\tb\r\nB\tc\t2\td\te\textra\r\n").read();
  REQUIRE(labeled.triplets().size() == 2);
  CHECK(labeled.triplets()[0].nearer() == "far \"x\"");
  CHECK(labeled.triplets()[0].a == " a");
  CHECK(labeled.triplets()[1].nearer() == "e");
  CHECK(labeled.triplets()[1].line == 3);
  const TripletText plain = WrittenTriplets("A\tB\tC\n1\t2\t3\n").read();
  REQUIRE(plain.triplets().size() == 1);
  CHECK(plain.triplets()[0].nearer() == "2");
}

TEST_CASE("triplets: empty texts are skipped and counted") {
  const WrittenTriplets file("A\tB\tC\n\na\t \tc\na\tb\tc\n");
  CHECK(file.read().describe() ==
        file.path.string() + ": 1 triplet, skipped 2 empty (lines 2, 3); nearer: 1 x B, 0 x C");
  CHECK(contains(file.error(OnBadLine::error), ":2: a blank line: 2 lines empty (lines 2, 3)"));
  const WrittenTriplets objects(
      "{\"A\": \"a\", \"B\": \"b\", \"C\": \"c\"}\n\n{\"A\": \"a\", \"B\": \"\", \"C\": \"c\"}\n");
  CHECK(objects.read().triplets().size() == 1);
}

TEST_CASE("triplets: errors name the file and the line") {
  const std::string good = "{\"A\": \"a\", \"B\": \"b\", \"C\": \"c\"}\n";
  CHECK(contains(WrittenTriplets("").error(), "expected triplets of texts, the file is empty"));
  CHECK(contains(WrittenTriplets("A\tB\tC\n").error(), "expected at least one triplet, got"));
  CHECK(WrittenTriplets("\n").fails_at(1, "expected a JSON object, or a header line with one column \"A\", got"));
  CHECK(WrittenTriplets("A\tB\tB\tC\n1\t2\t3\t4\n")
            .fails_at(1, "expected a JSON object, or a header line with one column \"B\""));
  CHECK(WrittenTriplets("A\tB\tC\tlabel\tlabel\n")
            .fails_at(1, "expected a JSON object, or a header line with at most one"));
  CHECK(WrittenTriplets("A\tB\xFF\tC\n").fails_at(1, "expected UTF-8 in the header line, got byte 4 (0xFF)"));
  CHECK(WrittenTriplets("A\tB\tC\tlabel\n1\t2\t3\n").fails_at(2, "expected at least 4 tab-separated columns, got 3"));
  CHECK(WrittenTriplets("A\tB\tC\tlabel\n1\t2\t3\tA\n").fails_at(2, "expected the label \"B\" or \"C\", got \"A\""));
  CHECK(WrittenTriplets(good + "{\"A\": \"a\", \"B\": \"b\"}\n").fails_at(2, "expected a text \"C\", got none"));
  CHECK(WrittenTriplets(good + "{\"A\": 1, \"B\": \"b\", \"C\": \"c\"}\n").fails_at(2, "expected a text \"A\", got 1"));
  CHECK(WrittenTriplets(good + "{\"A\": \"a\"\n").fails_at(2, "the line is not valid JSON"));
  CHECK(WrittenTriplets(good + "{\"A\": \"a\", \"B\": \"b\", \"C\": \"c\", \"label\": \"C\"}\n")
            .fails_at(2, "expected no \"label\", as in the first object"));
  CHECK(WrittenTriplets("{\"A\": \"a\", \"B\": \"b\", \"C\": \"c\", \"label\": \"C\"}\n" + good)
            .fails_at(2, "expected a \"label\", as in the first object"));
  CHECK(WrittenTriplets(good + "[1]\n").fails_at(2, "expected a JSON object, got [1]"));
  CHECK(WrittenTriplets(good + "{\"A\": \"\xFF\", \"B\": \"b\", \"C\": \"c\"}\n").fails_at(2, "byte 8 (0xFF)"));
  const WrittenTriplets twice(good + good + "{\"A\": \"a\", \"A\": \"a\", \"B\": \"b\", \"C\": \"c\"}\n{}\n");
  CHECK(twice.fails_at(3, "duplicate key \"A\": 2 lines with bad JSON (lines 3, 4)"));
  CHECK(twice.read(OnBadLine::skip).triplets().size() == 2);
}

TEST_CASE("triplets: CAIL2019-SCM") {
  const char* file = "chinese/cail2019_scm.jsonl";
  if (!require_shared_data({file})) return;
  const TripletText text(shared_data() / file, OnBadLine::error);
  CHECK(text.triplets().size() == 400);
  CHECK(text.describe().ends_with("; nearer: 400 x B, 0 x C"));
}
