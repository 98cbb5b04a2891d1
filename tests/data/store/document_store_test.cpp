#include "gyre/data/store/document_store.h"

#include <doctest/doctest.h>

#include "gyre/data/store/token_store.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "tests/data/text_files.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

// The sentences of a store in parentheses, with "|" after each document.
std::string text_of(const Path& path) {
  const TokenStore store(path);
  store.verify();
  std::string text;
  for (size_t i = 0; i < store.size(); ++i) {
    text += store.length(i, 0) == 0 ? "|" : "(" + ByteVocabulary().decode(store.sentence(i, 0)) + ")";
  }
  return text;
}

std::string built(const TemporaryDirectory& directory, const std::vector<Path>& files, DocumentEnd end) {
  const Path output = directory / "documents.store";
  build_document_store(ByteVocabulary(), files, output, end, OnBadLine::by_kind);
  return text_of(output);
}

}  // namespace

TEST_CASE("documents: one or more lines of any white space, or the end of a file, end a document") {
  TemporaryDirectory directory;
  const Path a = write_text(directory, "a", "\n\none\ntwo\n \t\n\n\xE2\x82\xAC\r\n\r\nfour\nfive");
  const Path b = write_text(directory, "b", "six\n\n");
  const Path nothing = write_text(directory, "nothing", "\n\n");
  CHECK(built(directory, {a}, DocumentEnd::blank_line) == "(one)(two)|(€)|(four)(five)|");
  CHECK(built(directory, {a, nothing, b}, DocumentEnd::blank_line) == "(one)(two)|(€)|(four)(five)|(six)|");
  CHECK(built(directory, {a, b}, DocumentEnd::line) == "(one)|(two)|(€)|(four)|(five)|(six)|");
}

TEST_CASE("documents: the report; bad lines are errors before encoding begins, or skipped; no line is too long") {
  TemporaryDirectory directory;
  const Path good = write_text(directory, "good", "one\n\n" + std::string(100000, 'x') + "\n");
  const Path bad = write_text(directory, "bad", "two\n\xFF\nthree\n");
  const Path output = directory / "d.store";
  const ByteVocabulary vocabulary;
  const auto report = build_document_store(vocabulary, {good, bad}, output, DocumentEnd::blank_line, OnBadLine::skip);
  CHECK(report.documents == 3);
  REQUIRE(report.files.size() == 2);
  CHECK(report.files[0].describe() == good.string() + ": 2 lines");
  CHECK(report.files[1].describe() == bad.string() + ": 2 lines, skipped 1 with invalid UTF-8 (line 2)");
  CHECK(TokenStore(output).length(2, 0) == 100000);
  CHECK(count_documents(TokenStore(output)) == 3);
  std::filesystem::remove(output);
  const auto build = [&](const std::vector<Path>& files, OnBadLine policy) {
    return error_of([&] { build_document_store(vocabulary, files, output, DocumentEnd::blank_line, policy); });
  };
  CHECK(
      contains(build({good, bad}, OnBadLine::by_kind), bad.string() + ":2: byte 1 (0xFF): 1 line with invalid UTF-8"));
  CHECK(!std::filesystem::exists(output));
  CHECK(build({good}, OnBadLine::error) == "no error");  // a blank line is not a bad line here
  const Path nothing = write_text(directory, "nothing", "\n \n");
  CHECK(contains(build({nothing}, OnBadLine::by_kind), "no document in " + nothing.string()));
  CHECK_THROWS_AS(parse_document_end("page"), UsageError);
}

TEST_CASE("documents: sizes are those of the kept lines without line ends") {
  TemporaryDirectory directory;
  const auto sizes_of = [&](const std::string& text, DocumentEnd end) {
    const Path path = write_text(directory, "text", text);
    const Documents read = open_documents(ByteVocabulary(), {path}, end, OnBadLine::skip, true);
    CHECK(read.sizes.size() == read.store.size());
    std::string sizes;
    for (const TextSize& size : read.sizes) sizes += concat(size.characters, "/", size.bytes, " ");
    return sizes;
  };
  const std::string text = "\xEF\xBB\xBFone\r\n\xFF\xFF\n \t\nh\xC3\xA9\n";
  CHECK(sizes_of(text, DocumentEnd::blank_line) == "3/3 0/0 2/3 0/0 ");
  CHECK(sizes_of(text, DocumentEnd::line) == "3/3 0/0 2/3 0/0 ");
  CHECK(sizes_of("\xEF\xBB\xBFh\xC3\xA9\r\n", DocumentEnd::whole) == "5/8 0/0 ");
  const Path path = write_text(directory, "text", text);
  CHECK(open_documents(ByteVocabulary(), {path}, DocumentEnd::line, OnBadLine::skip).sizes.empty());
}

TEST_CASE("documents: the size of a part of several documents, or of a single one that is split inside a sentence") {
  TemporaryDirectory directory;
  const ByteVocabulary vocabulary;
  std::string text;
  uint64_t held_out = 0;
  for (uint64_t d = 0; d < 40; ++d) {
    text += std::string(d + 1, 'x') + "\n";
    if (part_of_document(d, 0.3) == Part::validation) held_out += d + 1;
  }
  const Documents many =
      open_documents(vocabulary, {write_text(directory, "many", text)}, DocumentEnd::line, OnBadLine::error, true);
  CHECK(size_of_part(many, StorePart(many.store, 0, Part::training), vocabulary).bytes == 40 * 41 / 2);
  CHECK(size_of_part(many, StorePart(many.store, 0.3, Part::validation), vocabulary).bytes == held_out);
  CHECK(size_of_part(many, StorePart(many.store, 0.3, Part::training), vocabulary).bytes == 40 * 41 / 2 - held_out);
  const Path path = write_text(directory, "one",
                               "\xE2\x82\xAC"
                               "bcd\nefgh\n");  // the boundary is 10 * 0.5 tokens before the end
  const Documents one = open_documents(vocabulary, {path}, DocumentEnd::blank_line, OnBadLine::error, true);
  const TextSize end = size_of_part(one, StorePart(one.store, 0.5, Part::validation), vocabulary);
  CHECK(end.bytes == 5);
  CHECK(end.characters == 5);
}

TEST_CASE("documents: a whole file is one document whose tokens are its bytes, including invalid UTF-8") {
  TemporaryDirectory directory;
  std::string text = "\xEF\xBB\xBF one\r\n\n\n \ttwo \xFF\xC3";
  for (int b = 0; b < 256; ++b) text += char(b);
  text += std::string((3 << 20) + 1, '\n') + "\xE2\x82";  // several chunks; the last character is truncated
  const Path a = write_text(directory, "a", text), b = write_text(directory, "b", "\n");
  const Path nothing = write_text(directory, "nothing", ""), output = directory / "whole.store";
  const ByteVocabulary vocabulary;
  const auto report = build_document_store(vocabulary, {a, nothing, b}, output, DocumentEnd::whole, OnBadLine::error);
  CHECK(report.documents == 2);
  CHECK(report.files[0].describe() == concat(a.string(), ": ", text.size(), " bytes"));
  const TokenStore store(output);
  store.verify();
  CHECK(count_documents(store) == 2);
  std::vector<int32_t> ids;
  store.append_tokens(0, store.total_tokens(0), ids);
  CHECK(ids.size() == text.size() + 1);
  CHECK(vocabulary.decode(ids) == text + "\n");
  const Documents opened = open_documents(vocabulary, {a}, DocumentEnd::whole, OnBadLine::by_kind);
  CHECK(opened.store.total_tokens(0) == text.size());
  CHECK(contains(
      error_of([&] { build_document_store(vocabulary, {nothing}, output, DocumentEnd::whole, OnBadLine::error); }),
      "no document in " + nothing.string() + ": 0 bytes"));
}

TEST_CASE("documents: the store does not depend on the number of threads, for chunks limited by lines and by bytes") {
  TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 20000; ++i) text += i % 7 == 3 ? "\n" : concat("line ", i, "\n");
  for (int i = 0; i < 6; ++i) text += std::string(5 << 20, char('a' + i)) + "\n";
  const Path path = write_text(directory, "many", text);
  std::string first;
  for (const int n : {1, 3}) {
    const ThreadsInScope scope(n);
    const Path output = directory / concat(n, ".store");
    build_document_store(ByteVocabulary(), {path}, output, DocumentEnd::blank_line, OnBadLine::by_kind);
    if (n == 1) first = read_file(output);
    CHECK(read_file(output) == first);
  }
}
