#include "gyre/data/text/text_input.h"

#include <doctest/doctest.h>
#include <lzma.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <thread>

#include "gyre/data/text/labeled_text.h"
#include "gyre/data/text/line_stream.h"
#include "tests/data/text_files.h"

using namespace gyre;
using namespace std::string_literals;

namespace {

std::string gzip(std::string_view text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string xz(std::string_view text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  size_t used = 0;
  REQUIRE(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const uint8_t*>(text.data()),
                                  text.size(), reinterpret_cast<uint8_t*>(out.data()), &used, out.size()) == LZMA_OK);
  out.resize(used);
  return out;
}

using Compress = std::string (*)(std::string_view);
constexpr Compress kCompressions[] = {gzip, zstd, xz};

// Text that does not compress well, of several blocks.
std::string long_text() {
  std::string text;
  for (uint64_t i = 0, x = 1; i < 100000; ++i) text += concat((x = x * 6364136223846793005U + 1) >> 20, "\n");
  return text;
}

std::string through_pipe(const std::string& content) {
  TemporaryDirectory directory;
  const Path pipe = directory / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { write_file(pipe, content); });
  TextInput input(pipe);
  CHECK(!input.can_rewind());
  const std::string text = input.read_all();
  writer.join();
  CHECK(contains(error_of([&] { input.rewind(); }), "a pipe can be read only once"));
  return text;
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory,
                  "text input: plain and compressed files, of several members, are read twice, and pipes completely") {
  const std::string text = long_text();
  const auto is_read = [&](const std::string& content, const std::string& expected) {
    TextInput input(write_text(directory, "file", content));
    const std::string first = input.read_all();
    CHECK(input.bytes() == expected.size());
    CHECK(input.file_bytes_read() == content.size());
    input.rewind();
    return first == expected && input.read_all() == expected && through_pipe(content) == expected;
  };
  CHECK(is_read(text, text));
  CHECK(is_read("", ""));
  CHECK(is_read("x", "x"));
  for (const Compress compress : kCompressions) {
    const std::string one = compress(text);
    CHECK(one.size() < text.size());
    CHECK(is_read(one, text));
    CHECK(is_read(one + compress("more") + compress(""), text + "more"));
    CHECK(is_read(compress(""), ""));
  }
  CHECK(is_read(gzip(text) + std::string(700, '\0'), text));
  CHECK(is_read("\x5A\x2A\x4D\x18\x04\0\0\0skip"s + zstd(text), text));
}

TEST_CASE_FIXTURE(InDirectory, "text input: compressed data that end early or are damaged are errors") {
  const std::string text = long_text();
  const auto error_with = [&](const std::string& content) {
    return error_of([&] { TextInput(write_text(directory, "cut", content)).read_all(); });
  };
  for (const Compress compress : kCompressions) {
    const std::string whole = compress(text);
    for (const size_t keep : {size_t{8}, size_t{20}, whole.size() / 2, whole.size() - 1}) {
      CAPTURE(keep);
      CHECK(contains(error_with(whole.substr(0, keep)), "cut: the compressed data end early"));
    }
    std::string damaged = whole;
    damaged[whole.size() / 2] = char(damaged[whole.size() / 2] ^ 0x55);
    if (compress != zstd) CHECK(contains(error_with(damaged), "cut: damaged compressed data"));  // without a checksum
    CHECK(contains(error_with(whole + "rest of the file"), "cut: damaged compressed data"));
  }
}

TEST_CASE_FIXTURE(InDirectory, "text input: what is not text is named") {
  const auto error_with = [&](std::string_view content) {
    const std::string plain = error_of([&] { TextInput(write_text(directory, "file", content)); });
    const std::string zipped = error_of([&] { TextInput(write_text(directory, "file", gzip(content))); });
    CHECK(plain == zipped);
    return plain;
  };
  const std::string tar = "name.txt" + std::string(249, '\0') + "ustar" + std::string(250, '\0');
  const std::pair<std::string, std::string> cases[] = {
      {"PK\x03\x04rest", "is a zip archive"},
      {"PAR1\x15\x04\x15", "is a Parquet file"},
      {"BZh91AY&SY..", "is compressed with bzip2"},
      {"\xFF\xFEh\0i\0"s, "is UTF-16 text"},
      {"\xFE\xFF\0h\0i"s, "is UTF-16 text"},
      {"\xFF\xFE\0\0h\0\0\0"s, "is UTF-32 text"},
      {"t\0e\0x\0t\0 \0i\0n\0 \0U\0T\0F\0-\0001\0006\0"s, "looks like UTF-16 text"},
      {tar, "is a tar archive"},
      {"%PDF-1.7\n", "is a PDF document"},
      {"\x89PNG\r\n\x1A\n", "is an image"},
      {"SQLite format 3\0"s, "is an SQLite database"},
  };
  for (const auto& [content, reason] : cases) CHECK(contains(error_with(content), "file: " + reason));
  const std::string twice = gzip(gzip("text"));
  CHECK(contains(error_of([&] { TextInput(write_text(directory, "file", twice)); }), "is compressed twice"));
  for (const std::string text : {"PARIS", "PAR1S is a town", "BZh91 is none", "GIFs", "[Illustration]", "ORCHARD",
                                 "LZIPS", "{not JSON}", "GGUF is a format", "a\0b"})
    CHECK(TextInput(write_text(directory, "file", text)).kind() == TextKind::text);
}

TEST_CASE_FIXTURE(InDirectory, "text input: JSON lines and token stores are recognized") {
  const auto kind_of = [&](std::string_view content) {
    return TextInput(write_text(directory, "file", content)).kind();
  };
  CHECK(kind_of("{\"text\": 1}\n") == TextKind::json_lines);
  CHECK(kind_of("\xEF\xBB\xBF\n \r\n{ \"text\": 1}\n") == TextKind::json_lines);
  CHECK(kind_of("{}\n") == TextKind::json_lines);
  CHECK(kind_of("{\"text\": 1},\n{\"text\": 2}\n") == TextKind::json_lines);  // an error of its first line
  CHECK(kind_of(zstd("{\"text\": 1}\n")) == TextKind::json_lines);
  CHECK(kind_of("{\"text\": \"truncated\n{\"text\": 2}\n") == TextKind::json_lines);
  CHECK(kind_of("{\"text\": \"truncated\"\n{\"text\": 2}\n") == TextKind::json_lines);
  CHECK(kind_of("{\"a key\" : NaN}\n") == TextKind::json_lines);
  for (const char* text :
       {"{text}\n", "{ } is an empty brace:\n", "{\"U}ber den Wolken\n", "{\"foo\", \"bar\",\n \"baz\"}\n",
        "{\"foo\", 1},\n", "{\"Hello,\" she said,\nand left.\n", "[{\"role\": \"x\"}] is a chat\n",
        "[{\"a\": 1}]\n\nMarkdown goes on.\n", "[\"a text\"](a link)\n", "[\"Hello,\" he said]\n", "[1]\n[2]\n"})
    CHECK(kind_of(text) == TextKind::text);
  CHECK(kind_of("{\n") == TextKind::text);
  CHECK(kind_of("GYRETOKS") == TextKind::token_store);
  CHECK(kind_of("GYRETOKS\2\0\0\0\0\0\0\0"s + "a\0b\0a\0b\0a\0b\0a\0b\0a\0b\0a\0b\0a\0b\0a\0b\0"s) ==
        TextKind::token_store);
  CHECK(contains(error_of([&] { kind_of(gzip("GYRETOKS")); }), "is a token store: expected a regular file"));
}

TEST_CASE_FIXTURE(InDirectory, "text input: JSON that has no document in each line is named to readers of documents") {
  const std::pair<std::string, std::string> cases[] = {
      {" [\n {\"text\": \"a\"}]", "is a JSON array: expected a JSON object in each line"},
      {"[\n  \"text one\",\n  \"text two\"\n]\n", "is a JSON array"},
      {"[[\"a\"],\n", "is a JSON array"},
      {"[\"" + std::string(10'000, 'a'), "is a JSON array"},
      {"{\n  \"text\": \"a\"\n}\n{\n  \"text\": \"b\"\n}\n", "is pretty-printed JSON"},
      {"\n{\r\n\t\"text\": \"a\"\r\n}\r\n", "as jq -c . FILE writes them"},
      {"{\"text\": \"a\",\n \"id\": 1}\n", "is pretty-printed JSON"},
      {"{\"meta\": {\n  \"id\": 1\n},\n", "is pretty-printed JSON"},
      {"{\"meta\": {\"id\": 1},\n \"text\": \"a\"}\n", "is pretty-printed JSON"},
      {"{\"text\": \"a\"\n}\n", "is pretty-printed JSON"},
      {"{\"texts\": [\n\"a\"\n]}\n", "is pretty-printed JSON"},
      {"{\"text\":\n\"a\"}\n", "is pretty-printed JSON"},
  };
  for (const auto& [content, reason] : cases) {
    CAPTURE(content);
    const TextInput input(write_text(directory, "file", content));
    CHECK(input.kind() == TextKind::json);
    CHECK(contains(error_of([&] { input.require_documents(); }), reason));
  }
}

TEST_CASE_FIXTURE(InDirectory, "text input: a line of a pipe is available before the next one is written") {
  const Path pipe = directory / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::FILE* writer = nullptr;
  std::thread opener([&] {
    writer = std::fopen(pipe.c_str(), "w");
    std::fputs("a\n", writer);
    std::fflush(writer);
  });
  LineStream stream(pipe);
  opener.join();
  std::string line;
  CHECK(stream.next(line));
  CHECK(line == "a");
  std::fputs("second\n", writer);
  std::fflush(writer);
  CHECK(stream.next(line));
  CHECK(line == "second");
  std::fclose(writer);
  CHECK(!stream.next(line));
}

TEST_CASE("text input: a preloaded path is not opened") {
  const Path path = "/nowhere/file";
  TextInput::preload(path, "{\"text\": \"one\"}\n");
  TextInput input(path);
  CHECK(input.can_rewind());
  CHECK(input.kind() == TextKind::json_lines);
  CHECK(input.read_all() == "{\"text\": \"one\"}\n");
  input.rewind();
  CHECK(input.read_all().size() == 16);
  CHECK(contains(error_of([&] { TextInput again(path); }), "cannot be opened"));
}

TEST_CASE_FIXTURE(InDirectory, "text input: folders are their files in order, patterns what they match") {
  std::filesystem::create_directories(directory / "d/sub/.hidden");
  const auto add = [&](const std::string& name, const std::string& text = "x\n") {
    write_file(directory / name, text);
    return directory / name;
  };
  const std::vector<Path> all{add("d/a"), add("d/sub/m"), add("d/z[1]")};
  add("d/.hidden");
  add("d/sub/.hidden/x");
  add("d/empty", "");
  using Paths = std::vector<Path>;
  CHECK(expand_paths({directory / "d"}) == all);
  CHECK(expand_paths({directory / "d/sub", directory / "d/a"}) == Paths{all[1], all[0]});
  CHECK(expand_paths({directory / "d/[az]"}) == Paths{all[0]});
  CHECK(expand_paths({directory / "d/*"}) == Paths{all[0], directory / "d/empty", all[1], all[2]});
  CHECK(expand_paths({directory / "d/z[1]"}) == Paths{all[2]});  // a file of this name
  CHECK(
      contains(error_of([&] { expand_paths({directory / "d/q*"}); }), "q*: expected a file, found none that matches"));
  std::filesystem::create_directories(directory / "e");
  CHECK(contains(error_of([&] { expand_paths({directory / "e"}); }), "e: expected files in the folder, found none"));
  const Path too_long = std::string(5000, 'x');  // reported when it is opened
  CHECK(expand_paths({too_long}) == Paths{too_long});
  // Any number of folders between slashes, in the order of a folder; a pattern may match a file twice.
  CHECK(expand_paths({directory / "d/**/[amz]*"}) == all);
  CHECK(expand_paths({directory / "**/sub/**/m"}) == Paths{all[1]});
  CHECK(expand_paths({directory / "**/**/m"}) == Paths{all[1]});
  CHECK(expand_paths({directory / "d/**"}) == all);
  CHECK(expand_paths({directory / "d/**/*"}) == Paths{all[0], directory / "d/empty", all[1], all[2]});
  CHECK(expand_paths({directory / "d/a**"}) == Paths{all[0]});
  std::filesystem::create_directories(directory / "s[x]{y}*/t");
  const Path special = add("s[x]{y}*/t/n");
  CHECK(expand_paths({directory / "**/n"}) == Paths{special});
  const Path before = std::filesystem::current_path();
  std::filesystem::current_path(directory / "d");
  CHECK(expand_paths({"**/m"}) == Paths{"sub/m"});
  std::filesystem::current_path(before);
  for (const auto& [link, target] :
       {std::pair("circle", "circle"), {"nowhere", "missing"}, {"self", "."}, {"up", "../"}}) {
    CAPTURE(link);
    add("e/file");
    std::filesystem::create_symlink(target, directory / "e" / link);
    const std::string error = error_of([&] { expand_paths({directory / "e"}); });
    CHECK(contains(error, concat("e/", link, ": the link ")));
    std::filesystem::remove(directory / "e" / link);
  }
  std::filesystem::create_directory_symlink("../d", directory / "e/other");
  CHECK(expand_paths({directory / "e"}).size() == 4);
}

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

TEST_CASE_FIXTURE(InDirectory, "lines: a pipe can be read") {
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

TEST_CASE_FIXTURE(InDirectory, "line stream: marks and line ends are reported, and errors name the file") {
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

TEST_CASE_FIXTURE(InDirectory, "text file: JSON without an object in each line and token stores are no text of lines") {
  const auto error_with = [&](const std::string& content) {
    return error_of([&] { TextFile(write_text(directory, "file", content)); });
  };
  CHECK(contains(error_with("[\n{\"text\": \"a\"}]\n"), "file: is a JSON array"));
  CHECK(contains(error_with("{\n\"text\": \"a\"\n}\n"), "file: is pretty-printed JSON"));
  CHECK(contains(error_with("GYRETOKS" + std::string(40, '\1')), "file: expected text, got a token store"));
}
