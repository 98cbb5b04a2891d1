#include "gyre/data/text/parallel_text.h"

#include <doctest/doctest.h>

#include "tests/data/text_files.h"

using namespace gyre;

namespace {

std::vector<TextRow> rows_of(ParallelText& text) {
  std::vector<TextRow> rows;
  for (TextRow row; text.next(row);) rows.push_back(row);
  return rows;
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "parallel text: bad lines are skipped, counted and reported by number") {
  const Path en = write_text(directory, "t.en", "one\n\nthree\nbad \xFF here\nfive\nsix\nseven\n \t\n");
  const Path de = write_text(directory, "t.de", "eins\nzwei\n\t \nvier\nf\xC3\nsechs\n");
  ParallelText text({en, de}, OnBadLine::skip);
  const auto rows = rows_of(text);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].line == 1);
  CHECK(rows[0].text[1] == "eins");
  CHECK(rows[1].line == 6);
  CHECK(rows[1].text[0] == "six");
  LineReport& report = text.report();
  report.kept = rows.size();
  CHECK(report.describe() ==
        en.string() + " + " + de.string() +
            ": 2 pairs, skipped 2 without a partner (lines 7, 8), 2 with invalid UTF-8 (lines 4, 5), 2 "
            "empty (lines 2, 3)");
}

TEST_CASE("parallel text: by default, unequal line counts and invalid UTF-8 are errors before any row is read") {
  TemporaryDirectory directory;
  const Path en = write_text(directory, "t.en", "one\ntwo\nthree\n");
  const Path de = write_text(directory, "t.de", "eins\nzwei\n");
  const std::string counts = error_of([&] { ParallelText({en, de}, OnBadLine::by_kind); });
  CHECK(contains(counts, en.string() + " has 3 lines, " + de.string() + " has 2"));
  CHECK(contains(counts, "1 line without a partner (line 3)"));
  const Path bad = write_text(directory, "bad.de", "eins\nzw\xED\xA0\x80i\n\xFF\n");
  const std::string utf8 = error_of([&] { ParallelText({en, bad}, OnBadLine::by_kind); });
  CHECK(contains(utf8, bad.string() + ":2: byte 3 (0xED): 2 lines with invalid UTF-8 (lines 2, 3)"));
  CHECK(contains(utf8, "--on-bad-line skip"));
}

TEST_CASE_FIXTURE(InDirectory, "parallel text: empty lines are skipped by default and an error on request") {
  const Path path = write_text(directory, "t", "one\n\nthree\n");
  ParallelText text({path}, OnBadLine::by_kind);
  CHECK(text.report().of(BadLine::empty).count == 0);  // the initial check does not count
  CHECK(rows_of(text).size() == 2);
  CHECK(text.report().of(BadLine::empty).first_lines == std::vector<uint64_t>{2});
  CHECK(
      contains(error_of([&] { ParallelText({path}, OnBadLine::error); }), path.string() + ":2: 1 line empty (line 2)"));
}

TEST_CASE_FIXTURE(InDirectory, "parallel text: many bad lines are all counted, but only the first are listed") {
  const Path path = write_text(directory, "t", std::string(1000, '\n') + "end\n");
  ParallelText text({path}, OnBadLine::skip);
  CHECK(rows_of(text).size() == 1);
  CHECK(contains(text.report().describe(), "skipped 1000 empty (lines 1, 2, 3, 4, 5 and 995 more)"));
}

TEST_CASE_FIXTURE(InDirectory, "parallel text: lines that are JSON strings on one side are an error") {
  const Path plain = write_text(directory, "plain", "one\ntwo\n");
  const Path strings = write_text(directory, "strings", "\"ein\\tsatz\"\n\"zwei\"\n");
  CHECK(contains(error_of([&] {
                   ParallelText({plain, strings}, OnBadLine::by_kind);
                 }),
                 "strings:1: 2 lines of 4 are JSON strings"));
}

TEST_CASE_FIXTURE(InDirectory, "parallel text: the error for a missing file names it") {
  const Path path = directory / "missing";
  CHECK(contains(error_of([&] { ParallelText({path}, OnBadLine::skip); }), path.string()));
}

TEST_CASE("--on-bad-line: parsing of values") {
  CHECK(parse_enum<OnBadLine>("", "skip") == OnBadLine::skip);
  CHECK(parse_enum<OnBadLine>("", "error") == OnBadLine::error);
  CHECK(parse_enum<OnBadLine>("", "default") == OnBadLine::by_kind);
  CHECK_THROWS_AS(parse_enum<OnBadLine>("", "ignore"), Error);
}
