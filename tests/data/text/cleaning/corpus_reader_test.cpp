#include "gyre/data/text/cleaning/corpus_reader.h"

#include <doctest/doctest.h>

#include "tests/data/text_files.h"

using namespace gyre;

TEST_CASE("corpus reader: blocks have a bounded number of rows and of bytes, across files") {
  TemporaryDirectory directory;
  CorpusReader reader(
      {write_text(directory, "a.en", "1\n22\n\n"), write_text(directory, "b.en", "333\n4444444444\n5\n6")},
      {write_text(directory, "a.de", "a\nb\nc\n"), write_text(directory, "b.de", "d\ne\nf\ng\n")}, false);
  std::string blocks;
  for (std::vector<CorpusRow> rows; reader.next(rows, 4, 10);) {
    for (const CorpusRow& row : rows)
      blocks += concat(row.pair, ":", row.file, ":", row.line, ":", row.text[0], "=", row.text[1], " ");
    blocks += "| ";
  }
  CHECK(blocks == "1:0:1:1=a 2:0:2:22=b 3:0:3:=c 4:1:1:333=d | 5:1:2:4444444444=e | 6:1:3:5=f 7:1:4:6=g | ");
  CHECK(reader.bytes() == 25);
  std::vector<CorpusRow> rows(3);
  CHECK(!reader.next(rows, 4, 10));
  CHECK(rows.empty());
}

TEST_CASE("corpus reader: lines of which half are JSON are an error at the end of their file") {
  TemporaryDirectory directory;
  const Path text = write_text(directory, "text", "one\n{\"text\": \"two\"}\n");
  CorpusReader reader({text}, {}, false);
  CorpusRow row;
  CHECK(reader.next(row));
  CHECK(reader.next(row));
  CHECK(contains(error_of([&] { reader.next(row); }), "text:2: 1 line of 2 are JSON"));
}
