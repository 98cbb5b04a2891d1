#include "gyre/data/text/cleaning/clean_corpus.h"

#include <doctest/doctest.h>

#include "tests/data/text_files.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

// The names of the outputs in a directory.
CleaningFiles outputs_in(const TemporaryDirectory& directory) {
  CleaningFiles files;
  files.output_source = directory / "kept.en";
  files.output_target = directory / "kept.de";
  files.report = directory / "report.tsv";
  return files;
}

std::string without(std::string text, const std::string& part) {
  for (size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
  return text;
}

// The report without its header and its column of file names, which make_cleaning.py does not write.
std::string report_of(const CleaningFiles& files) {
  std::string rows, text = read_file(files.report);
  for (size_t at = text.find('\n') + 1; at < text.size();) {
    const size_t end = text.find('\n', at), name = text.find('\t', at), line = text.find('\t', name + 1);
    rows += text.substr(at, name - at) + text.substr(line, end + 1 - line);
    at = end + 1;
  }
  return rows;
}

// Cleans a corpus of one file per side without a report. Returns the kept pairs: "a=b c=d ".
std::string kept(const std::string& source, const std::string& target, CleaningOptions options) {
  TemporaryDirectory directory;
  CleaningFiles files = outputs_in(directory);
  files.sources = {write_text(directory, "in.en", source)};
  files.targets = {write_text(directory, "in.de", target)};
  files.report.clear();
  clean_corpus(files, options);
  std::string pairs, first = read_file(files.output_source), second = read_file(files.output_target);
  for (size_t a = 0, b = 0; a < first.size();) {
    const size_t a_end = first.find('\n', a), b_end = second.find('\n', b);
    pairs += first.substr(a, a_end - a) + "=" + second.substr(b, b_end - b) + ";";
    a = a_end + 1;
    b = b_end + 1;
  }
  return pairs;
}

}  // namespace

TEST_CASE("cleaning: every filter agrees with a second implementation, for any number of threads") {
  const std::string folder = golden("cleaning").string() + "/";
  CleaningOptions options;
  options.min_length = 2;
  options.max_length = 12;
  options.max_ratio = 1.5;
  options.max_characters = 20;
  options.max_bytes = 110;
  options.drop_same_text = options.remove_duplicates = options.drop_unpaired = true;
  options.normalize_whitespace = options.remove_pipes = true;
  options.excluded = {folder + "test1.txt", folder + "test2.txt"};
  options.holdout_every = 20;
  for (const int threads : {1, 3}) {
    CAPTURE(threads);
    ThreadsInScope scope(threads);
    TemporaryDirectory directory;
    CleaningFiles files = outputs_in(directory);
    files.sources = {folder + "in1.en", folder + "in2.en"};
    files.targets = {folder + "in1.de", folder + "in2.de"};
    files.holdout_source = directory / "held_out.en";
    files.holdout_target = directory / "held_out.de";
    const CleaningSummary summary = clean_corpus(files, options);
    for (const char* name : {"kept.en", "kept.de", "held_out.en", "held_out.de"}) {
      CAPTURE(name);
      CHECK(read_file(directory / name) == read_file(folder + name));
    }
    CHECK(without(report_of(files), folder) == read_file(folder + "report.tsv"));
    CHECK(summary.pairs == 420);
    CHECK(summary.unpaired == 3);
    CHECK(summary.held_out == 21);
    CHECK(summary.inputs[1].pairs == 170);
    uint64_t dropped = 0, excluded = 0;
    for (const uint64_t count : summary.dropped) dropped += count;
    for (const uint64_t count : summary.excluded) excluded += count;
    CHECK(summary.kept + dropped + summary.held_out == summary.rows());
    CHECK(excluded == summary.dropped[size_t(DropReason::excluded)]);
  }
}

TEST_CASE("cleaning: without options only empty and undecodable lines go, and text stays as it is") {
  CHECK(kept("a  b\n \nc\xFF\nd\r\n|", "\tx\ny\nz\nw\n|", {}) == "a  b=\tx;d=w;|=|;");
}

TEST_CASE("cleaning: limits of lengths are inclusive and the ratio holds in both directions") {
  CleaningOptions options;
  options.max_length = 3;
  options.max_ratio = 1.5;
  CHECK(kept("a b c\na b\na b c d\na\n", "x y\nx y z\nx y z\nx y\n", options) == "a b c=x y;a b=x y z;");
  options.min_length = 3;
  CHECK(kept("a b c\na b\n", "x y z\nx y z\n", options) == "a b c=x y z;");
}

TEST_CASE("cleaning: test sets are found up to case and white space, on either side") {
  TemporaryDirectory directory;
  CleaningOptions options;
  options.excluded = {write_text(directory, "test", "Große  Stadt\n\n")};
  CHECK(kept("GROSSE STADT \nbig\nx\n", "a\n\tgrosse\tstadt\nb\n", options) == "x=b;");
  options.excluded = {write_text(directory, "test", "[\n{\"text\": \"a\"}]\n")};
  CHECK(contains(error_of([&] { kept("a\n", "b\n", options); }), "test: is a JSON array"));
}

TEST_CASE("cleaning: removed pipes do not hide the lines of test sets") {
  TemporaryDirectory directory;
  CleaningOptions options;
  options.excluded = {write_text(directory, "test", "a | b\n||\n")};
  CHECK(kept("A | B\na b\nx\n", "u\nv\n|y\n", options) == "a b=v;x=|y;");
  options.remove_pipes = true;
  CHECK(kept("A | B\na b\nx\n", "u\nv\n|y\n", options) == "x=y;");
}

TEST_CASE("cleaning: one side alone") {
  TemporaryDirectory directory;
  CleaningFiles files;
  files.sources = {write_text(directory, "in", "a\nb\na\n"), write_text(directory, "more", "b\nc")};
  files.output_source = directory / "out";
  CleaningOptions options;
  options.remove_duplicates = true;
  CHECK(clean_corpus(files, options).kept == 3);
  CHECK(read_file(files.output_source) == "a\nb\nc\n");
}

TEST_CASE("cleaning: errors leave the outputs as they were") {
  TemporaryDirectory directory;
  CleaningFiles files = outputs_in(directory);
  files.sources = {write_text(directory, "in.en", "a\nb\n")};
  files.targets = {write_text(directory, "in.de", "a\nb\nc\n")};
  write_text(directory, "kept.en", "before");
  CHECK(contains(error_of([&] { clean_corpus(files, {}); }),
                 "in.en has 2 lines, " + (directory / "in.de").string() + " has 3; expected as many"));
  CHECK(read_file(files.output_source) == "before");
  CHECK(!std::filesystem::exists(files.output_target));
  files.output_target = files.output_source;
  CHECK(contains(error_of([&] { clean_corpus(files, {}); }), "expected another file than"));
  files.output_target = directory / "in.en";
  CHECK(contains(error_of([&] { clean_corpus(files, {}); }), "is also an input"));
  files.output_target.clear();
  CHECK(contains(error_of([&] { clean_corpus(files, {}); }), "--output-target is required with --target"));
}
