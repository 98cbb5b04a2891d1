#include <doctest/doctest.h>
#include <sys/stat.h>

#include <thread>

#include "gyre/data/text/labeled_text.h"
#include "gyre/data/text/line_stream.h"
#include "tests/data/text_files.h"

using namespace gyre;

namespace {

using Lines = std::vector<std::string>;

// The rest of the lines of a reader.
template <class Line, class Reader>
Lines lines_of(Reader& reader) {
  Lines lines;
  for (Line line; reader.next(line);) lines.emplace_back(line);
  CHECK(reader.line() == lines.size());
  return lines;
}

// The lines of a text, which all readers must agree on.
Lines lines_of(const std::string& text) {
  TemporaryDirectory directory;
  const Path path = write_text(directory, "text", text);
  TextFile file(path);
  const Lines lines = lines_of<std::string_view>(file);
  file.rewind();
  CHECK(lines_of<std::string_view>(file) == lines);
  LineStream stream(path);
  CHECK(lines_of<std::string>(stream) == lines);
  return lines;
}

}  // namespace

TEST_CASE("lines: LF, CRLF, byte order mark, NUL, very long lines, no line end at the last line") {
  const std::string mark(kByteOrderMark), nul("a\0b", 3), long_line(3'000'000, 'x');
  CHECK(lines_of(mark + "first\r\n" + nul + "\n" + long_line + "\n\r\n\n" + mark + "inner\rreturn") ==
        Lines{"first", nul, long_line, "", "", mark + "inner\rreturn"});
}

TEST_CASE("lines: a final line end adds no empty line, and an empty file has no lines") {
  CHECK(lines_of("only\n") == Lines{"only"});
  CHECK(lines_of("only\r") == Lines{"only"});
  CHECK(lines_of("\n") == Lines{""});
  CHECK(lines_of("").empty());
  CHECK(lines_of(std::string(kByteOrderMark) + "\r\n\xEF\xBB") == Lines{"", "\xEF\xBB"});
}

TEST_CASE("lines: a pipe can be read") {
  TemporaryDirectory directory;
  const Path pipe = directory / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const auto write = [&] { write_file(pipe, "one\ntwo\n"); };
  std::thread writer(write);
  TextFile text(pipe);
  writer.join();
  CHECK(lines_of<std::string_view>(text) == Lines{"one", "two"});
  writer = std::thread(write);
  LineStream stream(pipe);
  CHECK(lines_of<std::string>(stream) == Lines{"one", "two"});
  writer.join();
}

TEST_CASE("line stream: marks and line ends are reported, and errors name the file") {
  TemporaryDirectory directory;
  LineStream stream(write_text(directory, "text", std::string(kByteOrderMark) + "a\r\nb\nc\r\n"));
  CHECK(lines_of<std::string>(stream) == Lines{"a", "b", "c"});
  CHECK(stream.has_byte_order_mark());
  CHECK(stream.crlf_lines() == 2);
  CHECK(stream.name() == (directory / "text").string());
  CHECK(contains(error_of([&] { LineStream(directory / "missing"); }), "missing: cannot be opened"));
  CHECK(contains(error_of([&] { LineStream(directory.path()); }), "expected a file, got a directory"));
}

TEST_CASE("one line: both characters of line ends become spaces") {
  CHECK(one_line("a\r\nb\n") == "a  b ");
  CHECK(one_line("") == "");
}

TEST_CASE("text file: JSON without an object in each line and token stores are no text of lines") {
  TemporaryDirectory directory;
  const auto error_with = [&](const std::string& content) {
    return error_of([&] { TextFile(write_text(directory, "file", content)); });
  };
  CHECK(contains(error_with("[\n{\"text\": \"a\"}]\n"), "file: is a JSON array"));
  CHECK(contains(error_with("{\n\"text\": \"a\"\n}\n"), "file: is pretty-printed JSON"));
  CHECK(contains(error_with("GYRETOKS" + std::string(40, '\1')), "file: expected text, got a token store"));
}
