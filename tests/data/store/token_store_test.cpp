#include "gyre/data/store/token_store.h"

#include <doctest/doctest.h>

#include "gyre/data/store/build_store.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "tests/data/first_store_version.h"
#include "tests/data/text_files.h"
#include "tests/threads_in_scope.h"

using namespace gyre;
using Ids = std::vector<int32_t>;

namespace {

constexpr size_t kHeaderBytes = 16, kTextBytes = 16, kTrailerBytes = 88;

// A vocabulary of more than 65,536 pieces, whose ids need four bytes.
const IdVocabulary kWide(100000);

std::string small_store(const TemporaryDirectory& directory, const Path& path) {
  const Path en = write_text(directory, "a.en", "one\ntwo\nthree\n");
  const Path de = write_text(directory, "a.de", "eins\nzwei\ndrei\n");
  build_token_store(ByteVocabulary(), {en, de}, path, {});
  return read_file(path);
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "token store: pairs are read back from a file and from memory") {
  const ByteVocabulary vocabulary;
  const std::string bytes = small_store(directory, directory / "a.store");
  const TokenStore store(directory / "a.store");
  store.verify();
  store.require_vocabulary(vocabulary);
  CHECK(store.size() == 3);
  CHECK(store.sides() == 2);
  CHECK(vocabulary.decode(store.sentence(2, 0)) == "three");
  CHECK(vocabulary.decode(store.sentence(1, 1)) == "zwei");
  CHECK(store.length(2, 0) == 5);
  CHECK(store.total_tokens(0) == 11);
  CHECK(store.total_tokens(1) == 12);
  CHECK(store.eos() == 2);
  CHECK(store.bos() == 1);
  CHECK_THROWS_AS(store.sentence(3, 0), Error);
  CHECK_THROWS_AS(store.sentence(0, 2), Error);
  const Corpus memory = open_corpus(vocabulary, {directory / "a.en", directory / "a.de"}, {});
  memory.store.verify();
  CHECK(memory.report->kept == 3);
  for (size_t i = 0; i < 3; ++i) {
    for (const int side : {0, 1}) CHECK(memory.store.sentence(i, side) == store.sentence(i, side));
  }
  const Corpus mapped = open_corpus(vocabulary, {directory / "a.store"}, {});
  CHECK(!mapped.report.has_value());
  CHECK(mapped.store.sentence(0, 1) == store.sentence(0, 1));
}

TEST_CASE_FIXTURE(InDirectory, "token store: one side and ids of four bytes") {
  auto writer = TokenStoreWriter::to_file(kWide, 1, directory / "wide.store");
  writer.add({99999, 0, 65536});
  writer.add({});
  writer.add({7});
  CHECK_THROWS_AS(writer.add({100000}), Error);
  CHECK_THROWS_AS(writer.add({1}, {2}), Error);
  CHECK(!std::filesystem::exists(directory / "wide.store"));
  const TokenStore store = writer.finish();
  store.verify();
  CHECK(store.sides() == 1);
  CHECK(store.sentence(0, 0) == Ids{99999, 0, 65536});
  CHECK(store.sentence(1, 0).empty());
  CHECK(store.sentence(2, 0) == Ids{7});
  CHECK_THROWS_AS(store.length(0, 1), Error);
}

TEST_CASE_FIXTURE(InDirectory, "token store: a store of the first version is read as it was made") {
  const ByteVocabulary vocabulary;
  const Path text = write_text(directory, "text", "one\ntwo\n\nthree\n"), store = directory / "a.tok";
  build_document_store(vocabulary, {text}, store, {.line_ends = LineEnds::none});
  const Path old = write_text(directory, "old.tok", of_first_version(read_file(store)));
  const TokenStore now(store), before(old);
  before.verify();
  CHECK(before.is_of_earlier_version());
  CHECK(!now.is_of_earlier_version());
  CHECK(!before.line_ends());
  CHECK(!before.has_text_sizes());
  CHECK(before.checksum() == now.checksum());
  REQUIRE(before.size() == now.size());
  for (size_t i = 0; i < now.size(); ++i) CHECK(before.sentence(i, 0) == now.sentence(i, 0));
  CHECK(size_of_part(StorePart(before, 0, Part::training), vocabulary).bytes == 11);
  CHECK(has_exact_size(before, vocabulary));
  CHECK(has_exact_size(now, kWide));
  CHECK(!has_exact_size(before, kWide));
  for (const auto& files : {std::vector<Path>{old, store}, {store, old}}) {  // both have nothing between lines
    const TokenStore both = open_documents(vocabulary, files, {}).store;
    CHECK(both.size() == 2 * now.size());
    CHECK(both.is_of_earlier_version());
    CHECK(!both.has_text_sizes());
  }
  build_document_store(vocabulary, {text}, directory / "space.tok", {.line_ends = LineEnds::space});
  CHECK(contains(error_of([&] {
                   open_documents(vocabulary, {old, directory / "space.tok"}, {});
                 }),
                 "expected the line ends of"));
  CHECK(open_documents(vocabulary, {old}, {.line_ends = LineEnds::none}).store.size() == now.size());
  CHECK(contains(error_of([&] { open_documents(vocabulary, {old}, {.line_ends = LineEnds::keep}); }),
                 "old.tok was built with none, got keep"));
}

TEST_CASE_FIXTURE(InDirectory, "token store: stores of pairs are one corpus, and no text is left out beside them") {
  small_store(directory, directory / "a.store");
  small_store(directory, directory / "c.store");
  const Path a = directory / "a.store", b = write_text(directory, "b.txt", "one\n"), c = directory / "c.store";
  CHECK(open_corpus(ByteVocabulary(), {a, c}, {}).store.size() == 6);
  for (const auto& files : {std::vector<Path>{a, b, c}, {a, b}, {b, a}}) {
    CHECK(contains(error_of([&] { open_corpus(ByteVocabulary(), files, {}); }),
                   "expected only token stores beside it, got " + b.string()));
  }
  CHECK(!TokenStore::recognizes(std::string(5000, 'x')));  // a name that no file can have
}

TEST_CASE_FIXTURE(InDirectory, "token store: truncation at any byte is an error that names the file") {
  const std::string bytes = small_store(directory, directory / "a.store");
  for (size_t keep = 0; keep < bytes.size(); ++keep) {
    const Path path = write_text(directory, "cut.store", std::string_view(bytes).substr(0, keep));
    const std::string error = error_of([&] { TokenStore{path}; });
    if (!contains(error, path.string())) FAIL("cut to ", keep, " bytes: ", error);
    if (keep >= kHeaderBytes && !contains(error, "truncated")) FAIL("cut to ", keep, " bytes: ", error);
  }
  const Path longer = write_text(directory, "longer.store", bytes + "x");
  CHECK(contains(error_of([&] { TokenStore{longer}; }), "longer.store"));
}

TEST_CASE_FIXTURE(InDirectory, "token store: any flipped bit is detected, and no read is out of bounds") {
  const std::string bytes = small_store(directory, directory / "a.store");
  size_t found_at_opening = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = char(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto* data = reinterpret_cast<const std::byte*>(damaged.data());
    const auto open = [&] { return TokenStore("flipped", {data, data + damaged.size()}); };
    found_at_opening += error_of(open) != "no error";
    const std::string error = error_of([&] { open().verify(); });
    if (!contains(error, "flipped: ")) FAIL("bit ", bit, ": ", error);
    error_of([&] {
      const TokenStore store = open();
      for (size_t i = 0; i < store.size(); ++i) store.sentence(i, 0), store.sentence(i, 1);
    });
  }
  CHECK(found_at_opening == (kHeaderBytes + kTextBytes + kTrailerBytes) * 8);
}

TEST_CASE_FIXTURE(InDirectory, "token store: errors name the damaged part") {
  const std::string bytes = small_store(directory, directory / "a.store");
  const auto error_with = [&](size_t at) {
    std::string damaged = bytes;
    damaged[at] = char(damaged[at] ^ 0x55);
    const Path path = write_text(directory, "damaged.store", damaged);
    return error_of([&] { TokenStore(path).verify(); });
  };
  CHECK(contains(error_with(0), "expected a token store"));
  CHECK(contains(error_with(8), "expected format version 1 to 3"));
  CHECK(contains(error_with(kHeaderBytes), "damaged ids"));
  CHECK(contains(error_with(bytes.size() - kTrailerBytes - kTextBytes - 8), "damaged offsets"));
  CHECK(contains(error_with(bytes.size() - kTrailerBytes - 8), "damaged description of the text"));
  CHECK(contains(error_with(bytes.size() - kTrailerBytes), "damaged trailer"));
  CHECK(contains(error_with(bytes.size() - 1), "the end mark is missing"));
}

TEST_CASE_FIXTURE(InDirectory, "token store: another vocabulary is an error of one line") {
  small_store(directory, directory / "a.store");
  const std::string error = error_of([&] { open_corpus(kWide, {directory / "a.store"}, {}); });
  CHECK(contains(error, "a.store: was built with another vocabulary (259 pieces"));
  CHECK(contains(error, "100000 pieces"));
  CHECK(!contains(error, "\n"));
}

TEST_CASE_FIXTURE(InDirectory, "building: every kind of bad line is counted; over-long lines are skipped or cropped") {
  const ByteVocabulary vocabulary;
  const Path en = write_text(directory, "b.en", "one\n\nthree\nfour is too long\nfive\n\xFF\nseven\n");
  const Path de =
      write_text(directory, "b.de", "eins\nzwei\ndrei\nvier\nf\xC3\xBCnf ist zu lang\nsechs\nsieben\nacht\n");
  const Path output = directory / "b.store";
  const std::string name = en.string() + " + " + de.string();
  TextOptions options{.on_bad_line = OnBadLine::skip, .max_length = 9};
  CHECK(
      build_token_store(vocabulary, {en, de}, output, options).describe() ==
      name +
          ": 3 pairs, skipped 1 without a partner (line 8), 1 with invalid UTF-8 (line 6), 1 empty (line 2), 2 over 9 "
          "tokens (lines 4, 5)");
  CHECK(TokenStore(output).size() == 3);
  CHECK(vocabulary.decode(TokenStore(output).sentence(2, 1)) == "sieben");
  options.crop = true;
  const LineReport cropped = build_token_store(vocabulary, {en, de}, output, options);
  CHECK(contains(cropped.describe(),
                 ": 5 pairs, skipped 1 without a partner (line 8), 1 with invalid UTF-8 (line 6), 1 empty "
                 "(line 2), cropped 2 to 9 tokens"));
  CHECK(vocabulary.decode(TokenStore(output).sentence(2, 0)) == "four is ");
}

TEST_CASE_FIXTURE(InDirectory,
                  "building: an error leaves no store and no temporary file, and does not change an existing store") {
  const ByteVocabulary vocabulary;
  const Path output = directory / "c.store";
  const Path good = write_text(directory, "good", "one\n");
  const Path long_line = write_text(directory, "long", "one\n" + std::string(400, 'x') + "\n");
  const TextOptions strict{.on_bad_line = OnBadLine::error};
  CHECK(contains(error_of([&] { build_token_store(vocabulary, {long_line}, output, strict); }),
                 long_line.string() + ":2: 1 line over 256 tokens (line 2)"));
  CHECK(!std::filesystem::exists(output));
  build_token_store(vocabulary, {good}, output, strict);
  const std::string before = read_file(output);
  CHECK(error_of([&] { build_token_store(vocabulary, {long_line}, output, strict); }) != "no error");
  CHECK(read_file(output) == before);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) files += entry.is_regular_file();
  CHECK(files == 3);
}

TEST_CASE_FIXTURE(InDirectory, "building: without a usable line, the error contains the report") {
  const Path empty = write_text(directory, "empty", "\n \n");
  const std::string error = error_of([&] { open_corpus(ByteVocabulary(), {empty}, {}); });
  CHECK(contains(error, "no usable line: " + empty.string() + ": 0 lines, skipped 2 empty (lines 1, 2)"));
}

TEST_CASE_FIXTURE(InDirectory, "building: the store of many lines does not depend on the number of threads") {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += i % 1000 == 7 ? "bad \xFF\n" : i % 900 == 3 ? "\n" : concat("line ", i, "\n");
  const Path path = write_text(directory, "many", text);
  const TextOptions options{.on_bad_line = OnBadLine::skip, .max_length = 9};  // "line 1000" is too long
  const ByteVocabulary vocabulary;
  std::string first, report;
  for (const int n : {1, 2, 5}) {
    CAPTURE(n);
    const ThreadsInScope scope(n);
    const Path output = directory / concat(n, ".store");
    const std::string described = build_token_store(vocabulary, {path}, output, options).describe();
    if (n == 1) first = read_file(output), report = described;
    CHECK(read_file(output) == first);
    CHECK(described == report);
  }
  const TokenStore store(directory / "5.store");
  REQUIRE(store.size() == 1000 - 1 - 2);
  CHECK(vocabulary.decode(store.sentence(0, 0)) == "line 0");
  CHECK(vocabulary.decode(store.sentence(996, 0)) == "line 999");
}
