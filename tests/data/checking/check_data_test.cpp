#include "gyre/data/checking/check_data.h"

#include <doctest/doctest.h>

#include <string>

#include "gyre/data/checking/check_documents.h"
#include "gyre/data/checking/finding.h"
#include "gyre/data/store/build_store.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "tests/data/text_files.h"
#include "tests/errors.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

// The text of the first finding of a topic with this severity that contains `part`; empty if there is none.
std::string finding(const auto& check, gyre::Severity severity, const std::string& topic,
                    const std::string& part = "") {
  for (const gyre::Finding& found : check.findings) {
    if (found.severity == severity && found.topic == topic && contains(found.text, part)) return found.text;
  }
  return "";
}

// A vocabulary of bytes, so that tokens can be counted by hand.
std::shared_ptr<const Vocabulary> bytes(const TemporaryDirectory& directory) {
  ByteVocabulary().save(directory / "bytes.model");
  return load_vocabulary(directory / "bytes.model");
}

}  // namespace

TEST_CASE("faults of a line") {
  const auto has = [](std::string_view line, LineFault fault) { return find_line_faults(line).has(fault); };
  CHECK(has("a\xFF", LineFault::invalid_utf8));
  CHECK(has(" \t\u00A0", LineFault::blank));
  CHECK(has(std::string_view("a\0b", 3), LineFault::nul));
  CHECK(has("a\uFEFF", LineFault::mark));
  CHECK(has("a\uFFFD", LineFault::replacement));
  for (const LineFault fault : {LineFault::invalid_utf8, LineFault::blank, LineFault::nul, LineFault::mark,
                                LineFault::replacement, LineFault::double_encoded})
    CHECK(!has("Grüße – „naïve“ Ãœ? São Â »", fault) == (fault != LineFault::double_encoded));
}

TEST_CASE("text that was encoded twice, as Latin-1 or Windows-1252") {
  for (const char* text :
       {"fÃ¼r", "StraÃŸe", "Stra\u00C3\u009Fe", "Ã–l", "â€œquoteâ€", "it\u00E2\u0080\u0099s", "12Â°"})
    CHECK(looks_double_encoded(text));
  for (const char* text : {"für Straße Öl “quote” it’s 12°", "SÃO PAULO", "Âme", "crâne €5", "Ã", ""})
    CHECK(!looks_double_encoded(text));
}

TEST_CASE_FIXTURE(InDirectory, "check: repeated sentences, copies, overlap and lengths, with any number of threads") {
  DataCheckOptions options;
  options.train = {write_text(directory, "t.en", "one\ntwo\nONE \nsame\nfour\n"),
                   write_text(directory, "t.de", "eins\nzwei\nEins\nsame\naverylongtranslation\n")};
  options.valid = {write_text(directory, "v.en", "two\nthree\n"), write_text(directory, "v.de", "zwei\ndrei\n")};
  options.tests = {
      {write_text(directory, "x.en", "One\nnew\nthree\n"), write_text(directory, "x.de", "neu\nEINS\nDrei")}};
  options.batch.max_length = 12;
  options.batch.budget = {BatchUnit::sentences, 2};
  const auto vocabulary = bytes(directory);
  for (const int threads : {1, 3}) {
    ThreadsInScope scope(threads);
    const DataCheck check = check_data(options, *vocabulary);
    const SetStatistics& train = check.sets[0];
    CHECK(train.pairs == 5);
    CHECK(train.duplicates.first == std::vector<uint64_t>{3});
    CHECK(train.copies.first == std::vector<uint64_t>{4});
    CHECK(train.over_length.first == std::vector<uint64_t>{5});
    CHECK(train.ratio_outliers.first == std::vector<uint64_t>{5});
    CHECK(length_percentile(train, 0, 0.5) == 5);
    CHECK(length_percentile(train, 1, 1) == 21);
    CHECK(train.sides[1].pieces == 36);
    CHECK(check.epoch.updates == 2);
    CHECK(check.epoch.sentence_length == doctest::Approx((4 + 5 + 4 + 5 + 5 + 5 + 5 + 5) / 8.0));
    // Overlaps: validation with training, test with training, test with validation.
    REQUIRE(check.overlaps.size() == 3);
    CHECK(check.overlaps[0].pairs.count() == 1);
    CHECK(check.overlaps[1].pairs.count() == 0);
    CHECK(check.overlaps[1].source.count() == 1);
    CHECK(check.overlaps[1].target.count() == 1);
    CHECK(check.overlaps[2].pairs.count() == 1);
    CHECK(check.overlaps[1].target.first(5) == std::vector<std::pair<uint64_t, uint64_t>>{{2, 1}});
    CHECK(finding(check, Severity::warning, "overlap", "validation set: 1 of 2 pairs (50 %)") != "");
    CHECK(finding(check, Severity::error, "overlap") == "");
    CHECK(finding(check, Severity::warning, "duplicates", "training set: 1 of 5 pairs (20 %)") != "");
  }
}

TEST_CASE_FIXTURE(InDirectory, "check: errors of encoding and line counts, test pairs in the training set") {
  DataCheckOptions options;
  options.train = {write_text(directory, "t.en", "\uFEFFone\r\ntwo\xC3\nthree\nfour\n"),
                   write_text(directory, "t.de", "eins\nzwei\ndrei\n")};
  options.tests = {{write_text(directory, "x.en", "one\n"), write_text(directory, "x.de", "eins\n")}};
  const DataCheck check = check_data(options, *bytes(directory));
  CHECK(contains(finding(check, Severity::error, "lines"), "the source has 4 lines, the target 3"));
  CHECK(contains(finding(check, Severity::error, "encoding"), "t.en: 1 line with invalid UTF-8"));
  CHECK(finding(check, Severity::warning, "encoding", "1 line with Windows line ends") != "");
  CHECK(finding(check, Severity::warning, "encoding", "byte order mark") != "");
  CHECK(
      contains(finding(check, Severity::error, "overlap"), "test set: 1 of 1 pairs (100 %) occur in the training set"));
  CHECK(check.sets[0].pairs == 2);
}

TEST_CASE_FIXTURE(InDirectory, "check: swapped sides, samples, and nothing to train on") {
  DataCheckOptions options;
  std::string english, german;
  for (int i = 0; i < 100; ++i) (english += "the other thing\n"), (german += "das zweite Ding\n");
  options.train = {write_text(directory, "t.en", english), write_text(directory, "t.de", german)};
  options.valid = {options.train[1], options.train[0]};
  options.sample_lines = 10;
  const auto vocabulary = bytes(directory);
  DataCheck check = check_data(options, *vocabulary);
  CHECK(finding(check, Severity::error, "languages") == "");  // too few pieces
  options.sample_lines = 50;
  check = check_data(options, *vocabulary);
  CHECK(contains(finding(check, Severity::error, "languages"), "are the files swapped?"));
  CHECK(check.sets[0].every == 2);
  CHECK(check.sets[0].measured() == 50);
  CHECK(check.epoch.is_estimate);
  options.batch.max_length = 3;
  check = check_data(options, *vocabulary);
  CHECK(contains(finding(check, Severity::warning, "epoch"), "none of the 50 measured pairs of the training set"));
  options.sample_lines = 0;
  check = check_data(options, *vocabulary);
  CHECK(contains(finding(check, Severity::error, "epoch"), "no pair of the training set can be used"));
}

TEST_CASE_FIXTURE(InDirectory, "check: a token store is compared by ids") {
  const auto vocabulary = bytes(directory);
  const std::vector<Path> text = {write_text(directory, "t.en", "one\ntwo\n"),
                                  write_text(directory, "t.de", "eins\nzwei\n")};
  build_token_store(*vocabulary, text, directory / "train.tok", {});
  DataCheckOptions options;
  options.train = {directory / "train.tok"};
  options.tests = {{write_text(directory, "x.en", "two\nONE\n"), write_text(directory, "x.de", "zwei\neins\n")}};
  const DataCheck check = check_data(options, *vocabulary);
  CHECK(check.keys == RowKeys::ids);
  CHECK(check.overlaps[0].pairs.count() == 1);
  CHECK(check.overlaps[0].source.count() == 1);
  CHECK(check.overlaps[0].target.count() == 2);
  CHECK(check.sets[0].place(2) == (directory / "train.tok").string() + ":2");
}

TEST_CASE_FIXTURE(InDirectory, "check of documents: duplicates, overlaps and lengths, for any number of threads") {
  DocumentCheckOptions options;
  options.near_duplicates.similarity = 0.7;
  options.train = {write_text(
      directory, "train.txt",
      "One.\nTwo.\n\n" + kQuick + "\nof a long summer.\n\nOne.\nTwo.\n\n" + kQuick + "\nof a long, long summer.\n\n")};
  options.valid = {write_text(directory, "valid.txt", "Once " + kQuick + ".\n\nNothing of this is known.\n")};
  options.tests = {write_text(directory, "test.jsonl", "{\"text\": \"" + kQuick + "\"}\n"),
                   write_text(directory, "clean.txt", "A text that no other set contains in any form.\n")};
  const ByteVocabulary vocabulary;
  for (const int threads : {1, 3}) {
    ThreadsInScope scope(threads);
    const DocumentCheck check = check_documents(options, &vocabulary);
    REQUIRE(check.sets.size() == 4);
    const DocumentSet& train = check.sets[0];
    CHECK(train.documents == 4);
    CHECK(train.duplicates.count == 1);
    CHECK(train.near_duplicates.count == 1);
    CHECK(train.near_duplicates.first == std::vector<std::string>{(directory / "train.txt").string() + ":10"});
    CHECK(length_percentile(train, 0) == 9);  // with the line end between its lines
    REQUIRE(check.overlaps.size() == 5);
    const auto overlap = [&](size_t held_out, size_t other) {
      for (const DocumentOverlap& found : check.overlaps)
        if (found.held_out == held_out && found.other == other) return found.documents;
      FAIL("no overlap");
      return uint64_t{0};
    };
    CHECK(overlap(1, 0) == 1);
    CHECK(overlap(2, 0) == 1);
    CHECK(overlap(2, 1) == 1);
    CHECK(overlap(3, 0) == 0);
    CHECK(overlap(3, 1) == 0);
    CHECK(check.overlaps[0].examples == std::vector<std::string>{(directory / "valid.txt").string() +
                                                                 ":1 = " + (directory / "train.txt").string() + ":4"});
    CHECK(finding(check, Severity::error, "overlap", "test set 1: 1 of 1 document (100 %)") != "");
    CHECK(finding(check, Severity::warning, "overlap", "validation set: 1 of 2 documents (50 %)") != "");
    CHECK(finding(check, Severity::ok, "overlap", "test set 2: 0 of 1 document") != "");
    CHECK(finding(check, Severity::warning, "near-duplicates", "training set: 1 of 4 documents (25 %)") != "");
  }
}

TEST_CASE_FIXTURE(InDirectory, "check of documents: faults of text, separators and unknown pieces") {
  DocumentCheckOptions options;
  options.train = {
      write_text(directory, "train.txt", "Fine.\nNUL \0 here\n<|endoftext|>\nGr\xC3\x83\xC2\xBC\xC3\x9F e\n")};
  write_file(options.train[0], std::string("Fine.\nNUL ") + '\0' + " here\n<|endoftext|>\nbad \xFF\n");
  const ByteVocabulary vocabulary;
  const DocumentCheck check = check_documents(options, &vocabulary);
  CHECK(finding(check, Severity::warning, "encoding", "1 line with a NUL byte") != "");
  CHECK(finding(check, Severity::error, "encoding", "1 line with invalid UTF-8") != "");
  CHECK(contains(finding(check, Severity::warning, "separators"), "--documents '<|endoftext|>' ends documents there"));
  CHECK(finding(check_documents(options, nullptr), Severity::warning, "separators") == "");
  options.train = {write_text(directory, "two.txt", "One.\n<|endoftext|>\nTwo.\n</s>\n")};
  CHECK(contains(finding(check_documents(options, &vocabulary), Severity::warning, "separators"),
                 "2 lines like '<|endoftext|>'"));
  options.train = {directory / "train.txt"};
  options.format.end = DocumentEnd("<|endoftext|>");
  const DocumentCheck separated = check_documents(options, &vocabulary);
  CHECK(finding(separated, Severity::warning, "separators") == "");
  CHECK(separated.sets[0].documents == 1);
  options.train = {write_text(directory, "empty.txt", "\n\n")};
  CHECK(finding(check_documents(options, &vocabulary), Severity::error, "documents") != "");
}
