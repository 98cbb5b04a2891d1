#include "gyre/data/text/labeled_text.h"

#include <doctest/doctest.h>

#include "tests/data/text/written_text.h"

using namespace gyre;

namespace {

const std::vector<std::string> kEntailment{"entailment", "neutral", "contradiction"};

LabeledFormat pairs_by_name() { return {true, Column{"premise"}, Column{"hypothesis"}, Column{"gold"}, kEntailment}; }

LabeledFormat singles_by_number() { return {false, Column{"", 1}, {}, Column{"", 0}, {"0", "1"}}; }

using WrittenLabels = Written<LabeledText, LabeledFormat>;

}  // namespace

TEST_CASE("labeled text: columns by name in any order, CRLF, a byte order mark, quotes as ordinary characters") {
  const WrittenLabels file(
      "\xEF\xBB\xBFgold\tid\thypothesis\tpremise\r\n"
      "neutral\t7\t\"No.\tHe said \"yes\", \"no\"\r\n"
      "contradiction\t8\tb, c \t a\textra column\r\n"
      "entailment\t9\td\"\te");
  const LabeledText text = file.read(pairs_by_name());
  REQUIRE(text.rows().size() == 3);
  CHECK(text.rows()[0].line == 2);
  CHECK(text.rows()[0].text[0] == "He said \"yes\", \"no\"");
  CHECK(text.rows()[0].text[1] == "\"No.");
  CHECK(text.rows()[0].label == 1);
  CHECK(text.rows()[1].text[0] == " a");
  CHECK(text.rows()[1].text[1] == "b, c ");
  CHECK(text.rows()[1].label == 2);
  CHECK(text.rows()[2].text[1] == "d\"");
  CHECK(text.rows()[2].label == 0);
  CHECK(text.describe() == file.path.string() + ": 3 rows; labels: 1 x entailment, 1 x neutral, 1 x contradiction");
}

TEST_CASE("labeled text: columns by number, also counted from the end") {
  const WrittenLabels file("1\ta\tx\n0\tb\ty\n");
  const LabeledText text = file.read(singles_by_number());
  REQUIRE(text.rows().size() == 2);
  CHECK(text.rows()[0].line == 1);
  CHECK(text.rows()[0].text[0] == "a");
  CHECK(text.rows()[0].text[1].empty());
  CHECK(text.rows()[0].label == 1);
  LabeledFormat from_end{false, Column{"", -2}, {}, Column{"", -3}, {"0", "1"}};
  CHECK(file.read(from_end).rows()[1].text[0] == "b");
  CHECK(file.read(from_end).rows()[1].label == 0);
  from_end.has_header = true;  // columns without names are still found by number
  CHECK(file.read(from_end).rows().size() == 1);
}

TEST_CASE("labeled text: without a header line, names of columns are ignored") {
  const LabeledFormat format{false, Column{"sentence", 1}, {}, Column{"label", 0}, {"0", "1"}};
  CHECK(WrittenLabels("1\ta\n").read(format).rows()[0].text[0] == "a");
}

TEST_CASE("labeled text: numbers as labels") {
  const LabeledFormat format{false, Column{"", 0}, {}, Column{"", 1}, {}};
  const LabeledText text = WrittenLabels("a\t3.8\nb\t-2e-1\nc\t5\n").read(format);
  CHECK(text.rows()[0].score == 3.8);
  CHECK(text.rows()[1].score == -0.2);
  CHECK(text.rows()[2].score == 5);
  CHECK(contains(text.describe(), ": 3 rows; labels: -0.2 to 5"));
  for (const std::string bad : {"", "x", "3,8", "3.8 ", "nan", "inf", "1e999"}) {
    WrittenLabels("a\t1\nb\t" + bad + "\n").fails_at(2, "expected a number, got \"" + bad + "\"", format);
  }
  for (const std::string bad : {"1e300", "-3.5e38"}) {
    WrittenLabels("a\t1\nb\t" + bad + "\n")
        .fails_at(2, "expected a number in the range of a float, got \"" + bad + "\"", format);
  }
}

TEST_CASE("labeled text: rows without labels, for prediction") {
  LabeledFormat format = singles_by_number();
  format.label.reset();
  format.text.number = 0;
  const LabeledText text = WrittenLabels("a\nb\n").read(format);
  CHECK(text.rows()[1].label == -1);
  CHECK(text.describe().ends_with("t.tsv: 2 rows"));
}

TEST_CASE("labeled text: errors name the line, the expected and the actual content") {
  const LabeledFormat numbers = singles_by_number();
  WrittenLabels("1\ta\n1\n0\tb\n0\n")
      .fails_at(2,
                "expected at least 2 tab-separated columns, got 1: 2 lines with a wrong number of columns (lines 2, 4)",
                numbers);
  WrittenLabels("1\ta\n2\tb\n")
      .fails_at(2, "expected one of the labels \"0\", \"1\", got \"2\": 1 line with a bad label (line 2)", numbers);
  WrittenLabels("1\ta\n1\tb\xC3\n").fails_at(2, "byte 4 (0xC3): 1 line with invalid UTF-8 (line 2)", numbers);
  WrittenLabels("gold\tpremise\thyp\n")
      .fails_at(1, R"(expected one column named "hypothesis" in the header line, got "gold", "premise", "hyp")",
                pairs_by_name());
  WrittenLabels("gold\tpremise\tpremise\thypothesis\n")
      .fails_at(1, R"(expected one column named "premise" in the header line, got "gold", "premise", "premise")",
                pairs_by_name());
  WrittenLabels("gold\tpre\xFFmise\n")
      .fails_at(1, "expected UTF-8 in the header line, got byte 9 (0xFF)", pairs_by_name());
}

TEST_CASE("labeled text: JSON lines are no table; a table may have JSON in a cell") {
  const std::string expected = ": expected tab-separated columns, got JSON lines";
  for (const std::string text : {"{\"text\": \"a\", \"label\": 1}\n", "\n{\"text\": \"a\"}\n"}) {
    const WrittenLabels json(text);
    CHECK(contains(json.error(singles_by_number(), OnBadLine::skip), json.path.string() + expected));
    CHECK(contains(json.error(pairs_by_name(), OnBadLine::skip), json.path.string() + expected));
  }
  const LabeledFormat text_first{false, Column{"", 0}, {}, Column{"", 1}, {"0", "1"}};
  CHECK(WrittenLabels("{\"a\": 1}\t1\n").read(text_first).rows()[0].text[0] == "{\"a\": 1}");
}

TEST_CASE("labeled text: a file without rows is an error") {
  const WrittenLabels empty("");
  CHECK(empty.error(pairs_by_name()) ==
        "[data] " + empty.path.string() + ": expected a header line, the file is empty");
  CHECK(empty.error(singles_by_number()) ==
        "[data] expected at least one row, got " + empty.path.string() + ": 0 rows");
  const WrittenLabels header("gold\tpremise\thypothesis\n\n");
  CHECK(header.error(pairs_by_name()) ==
        "[data] expected at least one row, got " + header.path.string() + ": 0 rows, skipped 1 empty (line 2)");
  CHECK(contains(error_of([&] { LabeledText(header.directory / "none", singles_by_number(), OnBadLine::skip); }),
                 (header.directory / "none").string()));
}

TEST_CASE("labeled text: bad rows are skipped, counted and reported according to the policy") {
  const WrittenLabels file("1\ta\n\n1\t  \n0\n2\tb\n1\t\xFF\n0\tc\n");
  const LabeledText text = file.read(singles_by_number(), OnBadLine::skip);
  REQUIRE(text.rows().size() == 2);
  CHECK(text.rows()[1].line == 7);
  CHECK(text.report().kept == 2);
  CHECK(
      text.describe() ==
      file.path.string() +
          ": 2 rows, skipped 1 with invalid UTF-8 (line 6), 1 with a wrong number of columns (line 4), 2 empty (lines "
          "2, 3), 1 with a bad label (line 5); labels: 1 x 0, 1 x 1");
  const WrittenLabels blank("1\ta\n0\t\n");
  CHECK(blank.read(singles_by_number()).report().of(BadLine::empty).count == 1);
  CHECK(contains(blank.error(singles_by_number(), OnBadLine::error), ":2: a text is empty: 1 line empty (line 2)"));
}
