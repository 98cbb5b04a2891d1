#include "gyre/data/store/document_store.h"

#include <doctest/doctest.h>

#include "gyre/data/store/build_store.h"
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

std::string built(const TemporaryDirectory& directory, const std::vector<Path>& files, DocumentEnd end,
                  LineEnds line_ends = LineEnds::none) {
  const Path output = directory / "documents.store";
  build_document_store(ByteVocabulary(), files, output, {.end = end, .line_ends = line_ends});
  return text_of(output);
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory,
                  "documents: one or more lines of any white space, or the end of a file, end a document") {
  const Path a = write_text(directory, "a", "\n\none\ntwo\n \t\n\n\xE2\x82\xAC\r\n\r\nfour\nfive");
  const Path b = write_text(directory, "b", "six\n\n");
  const Path nothing = write_text(directory, "nothing", "\n\n");
  CHECK(built(directory, {a}, DocumentEnd::blank_line) == "(one)(two)|(€)|(four)(five)|");
  CHECK(built(directory, {a, nothing, b}, DocumentEnd::blank_line) == "(one)(two)|(€)|(four)(five)|(six)|");
  CHECK(built(directory, {a, b}, DocumentEnd::line) == "(one)|(two)|(€)|(four)|(five)|(six)|");
}

TEST_CASE("documents: line ends are kept by default if the vocabulary can write them, and sentences end after them") {
  TemporaryDirectory directory;
  const Path a = write_text(directory, "a", "one\r\ntwo\n\nthree\n");
  CHECK(keeps_line_ends(ByteVocabulary()));
  CHECK(built(directory, {a}, DocumentEnd::blank_line, LineEnds::keep) == "(one\n)(two)|(three)|");
  CHECK(built(directory, {a}, DocumentEnd::blank_line, LineEnds::space) == "(one two)|(three)|");
  CHECK(TokenStore(directory / "documents.store").line_ends() == LineEnds::space);
  const Documents opened = open_documents(ByteVocabulary(), {a}, {});
  CHECK(opened.store.line_ends() == LineEnds::keep);
  CHECK(opened.store.total_tokens(0) == 7 + 5);
  CHECK(contains(error_of([&] {
                   open_documents(ByteVocabulary(), {directory / "documents.store"}, {.line_ends = LineEnds::keep});
                 }),
                 "was built with space, got keep"));
  const Path json = write_text(directory, "j", "{\"t\": {\"x\": \"one\\n\\ntwo\\n\"}}\n{\"t.x\": \"three\"}\n");
  const auto of_json = [&](LineEnds line_ends) {
    build_document_store(ByteVocabulary(), {json}, directory / "json", {.line_ends = line_ends, .text_field = "t.x"});
    return text_of(directory / "json");
  };
  CHECK(of_json(LineEnds::keep) == "(one\n)(\n)(two\n)|(three)|");
  CHECK(of_json(LineEnds::space) == "(one  two)|(three)|");
  CHECK(of_json(LineEnds::none) == "(one)(two)|(three)|");
}

namespace {

// Bytes, but a line that is "-" has no ids.
class WithoutDashes final : public Vocabulary {
 public:
  WithoutDashes() : Vocabulary("dashes") {}
  std::string_view kind() const override { return "dashes"; }
  std::vector<int32_t> encode(std::string_view line) const override {
    return line == "-" ? std::vector<int32_t>() : bytes_.encode(line);
  }
  std::string decode(std::span<const int32_t> ids) const override { return bytes_.decode(ids); }
  std::string piece(int id) const override { return bytes_.piece(id); }
  int size() const override { return bytes_.size(); }

 private:
  ByteVocabulary bytes_;
};

}  // namespace

TEST_CASE("documents: a store of sentences, whose boundaries would be lost, is an error unless it is accepted") {
  TemporaryDirectory directory;
  const ByteVocabulary vocabulary;
  const Path text = write_text(directory, "text", "one\n\ntwo\n"), store = directory / "sentences.tok";
  build_token_store(vocabulary, {text}, store, {});
  CHECK(contains(error_of([&] { open_documents(vocabulary, {store}, {}); }),
                 "sentences.tok: expected documents, got sentences"));
  CHECK(contains(error_of([&] { open_documents(vocabulary, {text, store}, {}); }), "--documents blank-line"));
  const TokenStore accepted = open_documents(vocabulary, {store}, {.accepts_sentences = true}).store;
  CHECK(!accepted.has_documents());
  CHECK(accepted.total_tokens(0) == 6);
  CHECK(open_documents(vocabulary, {text}, {}).store.has_documents());
}

TEST_CASE_FIXTURE(
    InDirectory,
    "documents: lines that are JSON are an error if they are half of a text, and are reported if they are fewer") {
  const auto report = [&](std::string_view content, OnBadLine policy = OnBadLine::by_kind) {
    const Path text = write_text(directory, "text", content);
    std::string described;
    const std::string error = error_of([&] {
      build_document_store(ByteVocabulary(), {text}, directory / "d.tok", {.on_bad_line = policy});
      described = open_documents(ByteVocabulary(), {text}, {}).report->files.front().describe();
    });
    return error == "no error" ? described : error;
  };
  const std::string object = "{\"text\": \"a\"}\n";
  for (const OnBadLine policy : {OnBadLine::by_kind, OnBadLine::skip}) {
    CHECK(
        contains(report("# of a program\n" + object + object, policy), "text:2: 2 lines of 3 are JSON: expected text"));
    CHECK(contains(report("\"a\\nb\"\n\"c\"\n", policy), "text:1: 2 lines of 2 are JSON strings: expected text"));
    CHECK(contains(report("[\"a\", \"b\"]\n", policy), "text: is a JSON array"));
  }
  CHECK(report("one\ntwo\n" + object) ==
        concat((directory / "text").string(), ": 3 lines; 1 line with JSON (the first: line 3) read as text"));
  CHECK(contains(report("\"Yes,\"\n\"No.\"\n"), "2 lines in quotes (the first: line 1) read as text, not as JSON"));
  for (const char* text : {"\"Yes,\" he said.\n", "[1]\n", "{}\n", "{\n\"a\": 1\n}\n", "\"Yes.\"\n(a)\n(b)\n",
                           "{\"a\", \"b\"},\n", "['a']\n", "\"a\\n\"\nb\nc\n", "[[\"a\"]]\n"}) {
    CAPTURE(text);
    CHECK(!contains(report(concat("a line\n", text)), "JSON"));
  }
}

TEST_CASE_FIXTURE(InDirectory, "documents: what other programs put between documents and lines is reported") {
  const auto report = [&](const std::string& content, const DocumentEnd& end = DocumentEnd::blank_line) {
    const Path text = write_text(directory, "text", content);
    return open_documents(ByteVocabulary(), {text}, {.end = end}).report->files.front().describe();
  };
  for (const DocumentEnd& end : {DocumentEnd(DocumentEnd::blank_line), DocumentEnd(DocumentEnd::whole)}) {
    CHECK(contains(report("a\n<|endoftext|>\nb<|endoftext|>c\n", end),
                   "; 1 line like '<|endoftext|>' read as text: --documents '<|endoftext|>' ends documents there"));
    CHECK(contains(report("b<|endoftext|>c\n", end), "; <|endoftext|> inside 1 text ends no document"));
  }
  CHECK(contains(report("{\"text\": \"b<|endoftext|>c\"}\n"), "; <|endoftext|> inside 1 text ends no document"));
  CHECK(contains(report("a\rb\r\nc\r\n"), ": 2 lines; 1 line with a carriage return inside"));
  CHECK(contains(report(std::string("a\0\nb\n", 5)), ": 2 lines; 1 line with NUL bytes"));
  CHECK(!contains(report("a\n<|endoftext|>\nb\n", DocumentEnd("<|endoftext|>")), "endoftext"));
}

TEST_CASE_FIXTURE(InDirectory, "documents: the count of JSON lines is that of documents, whatever lines have no ids") {
  const Path json = write_text(directory, "j", "{\"text\": \"one\\n-\\n-\\ntwo\"}\n{\"text\": \"three\"}\n");
  const Path text = write_text(directory, "t", "one\n-\ntwo\n");
  const DocumentReport report =
      build_document_store(WithoutDashes(), {json, text}, directory / "d.store", {.line_ends = LineEnds::none});
  CHECK(report.documents == 3);
  CHECK(report.files[0].describe().starts_with(json.string() + ": 2 documents, skipped 2 empty"));
  CHECK(report.files[1].describe().starts_with(text.string() + ": 2 lines, skipped 1 empty (line "));
}

TEST_CASE_FIXTURE(InDirectory,
                  "documents: the line of a JSON object is given on request only, not with each of its parts") {
  const std::string line = "{\"text\": \"one\\ntwo\"}";
  const Path json = write_text(directory, "j", line + "\n");
  for (const bool keeps_json : {false, true}) {
    DocumentText text({json}, {.part_bytes = 1, .keeps_json = keeps_json}, OnBadLine::by_kind);
    DocumentPart part;
    for (const std::string_view expected : {"one\n", "two"}) {
      REQUIRE(text.next(part));
      CHECK(part.text == expected);
      CHECK(part.json == (keeps_json ? line : ""));
    }
    CHECK(!text.next(part));
  }
}

TEST_CASE_FIXTURE(InDirectory, "documents: several files and stores are one corpus, in order") {
  const ByteVocabulary vocabulary;
  std::vector<Path> texts, mixed;
  for (const std::string name : {"a", "b", "c", "d"}) {
    texts.push_back(write_text(directory, name, name + " one\nline\n\n" + name + " two \xE2\x82\xAC\n"));
    mixed.push_back(texts.back());
    if (name == "b" || name == "c") {
      mixed.back() = directory / (name + ".tok");
      build_document_store(vocabulary, {texts.back()}, mixed.back(), {});
    }
  }
  const TokenStore one = open_documents(vocabulary, texts, {}).store;
  const Documents opened = open_documents(vocabulary, mixed, {});
  const TokenStore& several = opened.store;
  CHECK(opened.report->files.size() == 2);
  several.verify();
  several.require_untruncated();
  REQUIRE(several.size() == one.size());
  CHECK(count_documents(several) == 8);
  CHECK(several.total_tokens(0) == one.total_tokens(0));
  for (size_t i = 0; i < one.size(); ++i) {
    CHECK(several.sentence(i, 0) == one.sentence(i, 0));
    CHECK(several.first_token(i) == one.first_token(i));
    CHECK(several.text_size(i).bytes == one.text_size(i).bytes);
  }
  for (const uint64_t begin : {0, 5, 17, 18, 40}) {
    for (const uint64_t end : {begin, begin + 1, begin + 20, one.total_tokens(0)}) {
      std::vector<int32_t> expected, got;
      one.append_tokens(begin, end, expected);
      several.append_tokens(begin, end, got);
      CHECK(got == expected);
    }
  }
  CHECK(several.checksum() != one.checksum());
  const TextSize size = size_of_part(StorePart(several, 0, Part::training), vocabulary);
  CHECK(size.bytes == 4 * (10 + 9));
  build_document_store(vocabulary, {texts[0]}, directory / "other", {.line_ends = LineEnds::none});
  CHECK(contains(error_of([&] {
                   open_documents(vocabulary, {mixed[1], directory / "other"}, {});
                 }),
                 "expected the line ends of"));
}

TEST_CASE_FIXTURE(InDirectory, "documents: a long document is encoded in parts that make up the whole") {
  std::string text;
  while (text.size() < (size_t{5} << 19)) text += concat("line ", text.size(), "\n");
  const Path path = write_text(directory, "long", text);
  const TokenStore store = open_documents(ByteVocabulary(), {path}, {}).store;
  CHECK(count_documents(store) == 1);
  std::vector<int32_t> ids;
  store.append_tokens(0, store.total_tokens(0), ids);
  CHECK(ByteVocabulary().decode(ids) + "\n" == text);
}

TEST_CASE("documents: the report; bad lines are errors before encoding begins, or skipped; no line is too long") {
  TemporaryDirectory directory;
  const Path good = write_text(directory, "good", "one\n\n" + std::string(100000, 'x') + "\n");
  const Path bad = write_text(directory, "bad", "two\n\xFF\nthree\n");
  const Path output = directory / "d.store";
  const ByteVocabulary vocabulary;
  const auto report = build_document_store(vocabulary, {good, bad}, output, {.on_bad_line = OnBadLine::skip});
  CHECK(report.documents == 3);
  REQUIRE(report.files.size() == 2);
  CHECK(report.files[0].describe() == good.string() + ": 2 lines");
  CHECK(report.files[1].describe() == bad.string() + ": 2 lines, skipped 1 with invalid UTF-8 (line 2)");
  CHECK(TokenStore(output).length(2, 0) == 100000);
  CHECK(count_documents(TokenStore(output)) == 3);
  std::filesystem::remove(output);
  const auto build = [&](const std::vector<Path>& files, OnBadLine policy) {
    return error_of([&] { build_document_store(vocabulary, files, output, {.on_bad_line = policy}); });
  };
  CHECK(
      contains(build({good, bad}, OnBadLine::by_kind), bad.string() + ":2: byte 1 (0xFF): 1 line with invalid UTF-8"));
  CHECK(!std::filesystem::exists(output));
  CHECK(build({good}, OnBadLine::error) == "no error");  // a blank line is not a bad line here
  const Path nothing = write_text(directory, "nothing", "\n \n");
  CHECK(contains(build({nothing}, OnBadLine::by_kind), "no document in " + nothing.string()));
  CHECK_THROWS_AS(parse_document_end("page"), UsageError);
}

TEST_CASE("documents: sizes are those of the kept lines with the line ends that are kept, in memory and in a file") {
  TemporaryDirectory directory;
  const auto sizes_of = [&](const std::string& text, DocumentEnd end, LineEnds line_ends = LineEnds::none) {
    const Path path = write_text(directory, "text", text);
    const DocumentOptions options{.end = end, .line_ends = line_ends, .on_bad_line = OnBadLine::skip};
    const Documents read = open_documents(ByteVocabulary(), {path}, options);
    build_document_store(ByteVocabulary(), {path}, directory / "store", options);
    const TokenStore built(directory / "store");
    built.verify();
    std::string sizes;
    for (size_t i = 0; i < read.store.size(); ++i) {
      const TextSize size = read.store.text_size(i);
      sizes += concat(size.characters, "/", size.bytes, " ");
      CHECK(built.text_size(i).bytes == size.bytes);
      CHECK(built.text_size(i).characters == size.characters);
    }
    return sizes;
  };
  const std::string text = "\xEF\xBB\xBFone\r\n\xFF\xFF\n \t\nh\xC3\xA9\n";
  CHECK(sizes_of(text, DocumentEnd::blank_line) == "3/3 0/0 2/3 0/0 ");
  CHECK(sizes_of(text, DocumentEnd::line) == "3/3 0/0 2/3 0/0 ");
  CHECK(sizes_of("\xEF\xBB\xBFh\xC3\xA9\r\n", DocumentEnd::whole) == "5/8 0/0 ");
  CHECK(sizes_of("one\r\nh\xC3\xA9\n\nx\n", DocumentEnd::blank_line, LineEnds::keep) == "4/4 2/3 0/0 1/1 0/0 ");
  CHECK(sizes_of("one\nh\xC3\xA9\n", DocumentEnd::blank_line, LineEnds::space) == "6/7 0/0 ");
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
  const Documents many = open_documents(vocabulary, {write_text(directory, "many", text)}, {.end = DocumentEnd::line});
  CHECK(size_of_part(StorePart(many.store, 0, Part::training), vocabulary).bytes == 40 * 41 / 2);
  CHECK(size_of_part(StorePart(many.store, 0.3, Part::validation), vocabulary).bytes == held_out);
  CHECK(size_of_part(StorePart(many.store, 0.3, Part::training), vocabulary).bytes == 40 * 41 / 2 - held_out);
  const Path path = write_text(directory, "one",
                               "\xE2\x82\xAC"
                               "bcd\nefgh\n");  // the boundary is 10 * 0.5 tokens before the end
  const Documents one = open_documents(vocabulary, {path}, {.line_ends = LineEnds::none});
  const TextSize end = size_of_part(StorePart(one.store, 0.5, Part::validation), vocabulary);
  CHECK(end.bytes == 5);
  CHECK(end.characters == 5);
}

TEST_CASE_FIXTURE(InDirectory,
                  "documents: a whole file is one document whose tokens are its bytes, including invalid UTF-8") {
  std::string text = "\xEF\xBB\xBF one\r\n\n\n \ttwo \xFF\xC3";
  for (int b = 0; b < 256; ++b) text += char(b);
  text += std::string((3 << 20) + 1, '\n') + "\xE2\x82";  // several chunks; the last character is truncated
  const Path a = write_text(directory, "a", text), b = write_text(directory, "b", "\n");
  const Path nothing = write_text(directory, "nothing", ""), output = directory / "whole.store";
  const ByteVocabulary vocabulary;
  const auto report = build_document_store(vocabulary, {a, nothing, b}, output, {.end = DocumentEnd::whole});
  CHECK(report.documents == 2);
  CHECK(report.files[0].describe() == concat(a.string(), ": ", text.size(), " bytes"));
  const TokenStore store(output);
  store.verify();
  CHECK(count_documents(store) == 2);
  std::vector<int32_t> ids;
  store.append_tokens(0, store.total_tokens(0), ids);
  CHECK(ids.size() == text.size() + 1);
  CHECK(vocabulary.decode(ids) == text + "\n");
  const Documents opened = open_documents(vocabulary, {a}, {.end = DocumentEnd::whole});
  CHECK(opened.store.total_tokens(0) == text.size());
  CHECK(contains(error_of([&] { build_document_store(vocabulary, {nothing}, output, {.end = DocumentEnd::whole}); }),
                 "no document in " + nothing.string() + ": 0 bytes"));
}

TEST_CASE("documents: an error gives the offset in the file of a byte that is not UTF-8 or that the vocabulary loses") {
  // Reads UTF-8 but decodes only the letters a to z.
  class LetterVocabulary final : public Vocabulary {
   public:
    LetterVocabulary() : Vocabulary("letters") {}
    std::string_view kind() const override { return "letters"; }
    std::vector<int32_t> encode(std::string_view line) const override { return {line.begin(), line.end()}; }
    std::string decode(std::span<const int32_t> ids) const override {
      std::string text;
      for (const int32_t id : ids) {
        if (id >= 'a' && id <= 'z') text += char(id);
      }
      return text;
    }
    std::string piece(int) const override { return {}; }
    int size() const override { return 128; }
  };
  TemporaryDirectory directory;
  const std::string letters(size_t{3} << 19, 'a');
  const auto error_with = [&](const std::string& end) {
    const Path path = write_text(directory, "text", letters + end);
    return error_of([&] { open_documents(LetterVocabulary(), {path}, {.end = DocumentEnd::whole}); });
  };
  CHECK(contains(error_with("\ngh"), "text: byte 1572865 (0x0A): expected a vocabulary that keeps every byte"));
  CHECK(contains(error_with("x\xC3"), "text: byte 1572866 (0xC3): expected valid UTF-8"));
  const Path lines = write_text(directory, "lines", "ab\ncd\n");
  CHECK(open_documents(LetterVocabulary(), {lines}, {}).store.line_ends() == LineEnds::none);
  CHECK_THROWS_AS(open_documents(LetterVocabulary(), {lines}, {.line_ends = LineEnds::keep}), UsageError);
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
    build_document_store(ByteVocabulary(), {path}, output, {});
    if (n == 1) first = read_file(output);
    CHECK(read_file(output) == first);
  }
}
