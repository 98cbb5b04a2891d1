#include "gyre/data/checking/check_documents.h"

#include <doctest/doctest.h>

#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "tests/data/checking/first_finding.h"
#include "tests/data/text_files.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

TEST_CASE("check of documents: duplicates, overlaps and lengths, for any number of threads") {
  TemporaryDirectory directory;
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

TEST_CASE("check of documents: faults of text, separators and unknown pieces") {
  TemporaryDirectory directory;
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
