#include "gyre/data/text/cleaning/clean_corpus.h"

#include <doctest/doctest.h>

#include "gyre/data/text/cleaning/corpus_reader.h"
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

TEST_CASE_FIXTURE(InDirectory, "cleaning: test sets are found up to case and white space, on either side") {
  CleaningOptions options;
  options.excluded = {write_text(directory, "test", "Große  Stadt\n\n")};
  CHECK(kept("GROSSE STADT \nbig\nx\n", "a\n\tgrosse\tstadt\nb\n", options) == "x=b;");
  options.excluded = {write_text(directory, "test", "[\n{\"text\": \"a\"}]\n")};
  CHECK(contains(error_of([&] { kept("a\n", "b\n", options); }), "test: is a JSON array"));
}

TEST_CASE_FIXTURE(InDirectory, "cleaning: removed pipes do not hide the lines of test sets") {
  CleaningOptions options;
  options.excluded = {write_text(directory, "test", "a | b\n||\n")};
  CHECK(kept("A | B\na b\nx\n", "u\nv\n|y\n", options) == "a b=v;x=|y;");
  options.remove_pipes = true;
  CHECK(kept("A | B\na b\nx\n", "u\nv\n|y\n", options) == "x=y;");
}

TEST_CASE_FIXTURE(InDirectory, "cleaning: one side alone") {
  CleaningFiles files;
  files.sources = {write_text(directory, "in", "a\nb\na\n"), write_text(directory, "more", "b\nc")};
  files.output_source = directory / "out";
  CleaningOptions options;
  options.remove_duplicates = true;
  CHECK(clean_corpus(files, options).kept == 3);
  CHECK(read_file(files.output_source) == "a\nb\nc\n");
}

TEST_CASE_FIXTURE(InDirectory, "cleaning: the lines between documents keep their pipes and are not held out") {
  CleaningFiles files;
  files.sources = {write_text(directory, "in", "a|b\n<|endoftext|> \nc\n\nd\n<|end|>\ne\n")};
  files.output_source = directory / "out";
  files.holdout_source = directory / "held_out";
  CleaningOptions options;
  options.remove_pipes = options.normalize_whitespace = true;
  options.holdout_every = 2;
  const CleaningSummary summary = clean_corpus(files, options);
  CHECK(read_file(files.output_source) == "ab\n<|endoftext|>\nc\n\nd\n<|end|>\ne\n");
  CHECK(read_file(files.holdout_source).empty());
  CHECK(summary.boundaries == 3);
}

TEST_CASE_FIXTURE(InDirectory, "cleaning: errors leave the outputs as they were") {
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

TEST_CASE_FIXTURE(InDirectory, "corpus reader: blocks have a bounded number of rows and of bytes, across files") {
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

TEST_CASE_FIXTURE(InDirectory, "corpus reader: lines of which half are JSON are an error at the end of their file") {
  const Path text = write_text(directory, "text", "one\n{\"text\": \"two\"}\n");
  CorpusReader reader({text}, {}, false);
  CorpusRow row;
  CHECK(reader.next(row));
  CHECK(reader.next(row));
  CHECK(contains(error_of([&] { reader.next(row); }), "text:2: 1 line of 2 are JSON"));
}

// ---- Cleaning of documents, the corpora of language models ---------------------------------------------------------

namespace {

struct Cleaned {
  std::string text, report;
  CleaningSummary summary;
};

Cleaned clean(const std::vector<std::pair<std::string, std::string>>& inputs, const CleaningOptions& options,
              const std::string& output = "out.txt") {
  TemporaryDirectory directory;
  CleaningFiles files;
  for (const auto& [name, text] : inputs) files.sources.push_back(write_text(directory, name, text));
  files.output_source = directory / output;
  files.report = directory / "report.tsv";
  if (options.holdout_every > 0) files.holdout_source = directory / "held.txt";
  Cleaned cleaned;
  cleaned.summary = clean_corpus(files, options);
  cleaned.text = read_file(files.output_source);
  const std::string report = read_file(files.report);
  for (size_t at = report.find('\n') + 1; at < report.size();) {
    const size_t line = report.find('\t', report.find('\t', at) + 1) + 1, end = report.find('\n', at);
    cleaned.report += report.substr(line, end + 1 - line);
    at = end + 1;
  }
  return cleaned;
}

CleaningOptions documents(DocumentEnd end = DocumentEnd::blank_line) {
  CleaningOptions options;
  options.documents = DocumentFormat{.end = std::move(end)};
  return options;
}

}  // namespace

TEST_CASE("cleaning of lines keeps the lines between documents") {
  CleaningOptions options;
  options.remove_duplicates = true;
  options.min_length = 2;
  const Cleaned cleaned = clean({{"in", "\n\na b\nc\nc d\n\n\na b\n\n<|endoftext|>\ne f\n<|endoftext|>\n"}}, options);
  CHECK(cleaned.text == "a b\nc d\n<|endoftext|>\ne f\n<|endoftext|>\n");
  CHECK(cleaned.summary.boundaries == 7);
  CHECK(cleaned.summary.kept == 3);
}

TEST_CASE("cleaning of documents: equal and similar ones are dropped, and blank lines stay between the others") {
  const std::string text = "First story.\nIts end.\n\nSecond story.\n\n\n" + kQuick +
                           "\nof a long summer.\n\nSecond story.\n\n" + kQuick +
                           "\nof a long, long summer.\n\nAnother one.\nIts end.\n";
  CleaningOptions options = documents();
  options.remove_duplicates = true;
  options.near_duplicates.similarity = 0.7;
  for (const int threads : {1, 3}) {
    ThreadsInScope scope(threads);
    const Cleaned cleaned = clean({{"in", text}}, options);
    CHECK(cleaned.text ==
          "First story.\nIts end.\n\nSecond story.\n\n" + kQuick + "\nof a long summer.\n\nAnother one.\nIts end.\n");
    CHECK(contains(cleaned.report, "10\tduplicate\tof document 2\n12\tnear-duplicate\tsimilarity 0."));
    CHECK(contains(cleaned.report, " to document 3\n"));
    CHECK(cleaned.summary.has_documents);
    CHECK(cleaned.summary.pairs == 6);
    CHECK(cleaned.summary.kept == 4);
  }
}

TEST_CASE("cleaning of documents: lengths are words or tokens of whole documents") {
  const std::string text = "a b\nc\n\nd e\n\nf\n";
  CleaningOptions options = documents();
  options.min_length = 2;
  options.max_length = 2;
  CHECK(clean({{"in", text}}, options).text == "d e\n");
  options.length_of = [](std::string_view document) { return document.size(); };
  options.min_length = 3;
  options.max_length = 5;
  const Cleaned cleaned = clean({{"in", text}}, options);
  CHECK(cleaned.text == "a b\nc\n\nd e\n");
  CHECK(cleaned.report == "6\tmin-length\tsource 1 token\n");
}

TEST_CASE_FIXTURE(InDirectory, "cleaning of documents: those that share words with a test set are dropped") {
  CleaningOptions options = documents();
  options.excluded = {write_text(directory, "other", "Nothing of this is in the text.\n"),
                      write_text(directory, "eval.jsonl",
                                 "{\"text\":\"Short.\"}\n{\"text\":\"He saw that the FOX jumps over the lazy dog and "
                                 "then it sleeps, in the warm sun.\"}\n")};
  const std::string text = kQuick + "\nof a summer.\n\nshort\n\nThis is a short text.\n\nThe fox jumps over a dog.\n";
  const Cleaned cleaned = clean({{"in", text}}, options);
  CHECK(cleaned.text == "This is a short text.\n\nThe fox jumps over a dog.\n");
  CHECK(cleaned.summary.excluded == std::vector<uint64_t>{0, 2});
  CHECK(contains(cleaned.report, "1\texcluded\t13 words = "));
  CHECK(contains(cleaned.report, "eval.jsonl:2\n"));
  CHECK(contains(cleaned.report, "4\texcluded\t1 word = "));
  options.excluded_words = 30;
  CHECK(clean({{"in", text}}, options).summary.excluded == std::vector<uint64_t>{0, 1});
}

TEST_CASE("cleaning of documents: JSON lines keep all their fields") {
  const std::string first =
      "{\"id\": 7, \"text\": \"One text.\\n\\nIts  second part.\", \"meta\": {\"lang\": \"en\"}}\n";
  const std::string lines = first + "{\"text\": \"Two.\", \"id\": 8}\nnot JSON\n{\"id\": 9, \"text\": \"Two.\"}\n";
  CleaningOptions options;
  options.remove_duplicates = true;
  Cleaned cleaned = clean({{"in", lines}}, options);
  CHECK(cleaned.text == first + "{\"text\": \"Two.\", \"id\": 8}\n");
  REQUIRE(cleaned.summary.reports.size() == 1);
  CHECK(cleaned.summary.reports[0].of(BadLine::bad_json).count == 1);
  options.normalize_whitespace = true;
  cleaned = clean({{"in", lines}}, options);
  CHECK(cleaned.text.starts_with(
      "{\"id\":7,\"text\":\"One text.\\n\\nIts second part.\",\"meta\":{\"lang\":\"en\"}}\n{\"text\": \"Two.\""));
  cleaned = clean({{"a", "One\ndocument.\n\nAnother.\n"}, {"b", "{\"text\": \"Two.\", \"id\": 8}\n"}}, documents());
  CHECK(cleaned.text == "{\"text\":\"One\\ndocument.\"}\n{\"text\":\"Another.\"}\n{\"text\": \"Two.\", \"id\": 8}\n");
  CHECK(clean({{"a", "x y\n"}}, documents(), "out.jsonl").text == "{\"text\":\"x y\"}\n");
  options.documents = DocumentFormat{.text_field = "data.body"};
  CHECK(clean({{"in", "{\"data\":{\"body\":\"A  b\"},\"n\":1}\n"}}, options).text ==
        "{\"data\":{\"body\":\"A b\"},\"n\":1}\n");
  // The messages name no option that the command lacks.
  const std::string nothing = error_of([&] { clean({{"in", lines}}, options); });
  CHECK(contains(nothing, "expected a text \"data.body\""));
  CHECK(contains(nothing, "no document is left"));
  CHECK(!contains(nothing, "--on-bad-line"));
  TemporaryDirectory directory;
  options.documents = DocumentFormat();
  options.excluded = {write_text(directory, "eval", "{\"text\": \"One.\"}\n{\"body\": \"Two.\"}\n")};
  const std::string excluded = error_of([&] { clean({{"in", lines}}, options); });
  CHECK(contains(excluded, "eval:2: expected a text \"text\", got the keys \"body\""));
  CHECK(!contains(excluded, "--on-bad-line"));
}

TEST_CASE("cleaning of documents: lines and separators can end documents") {
  CHECK(clean({{"in", "a\n\nb\nb\n"}}, documents(DocumentEnd::line)).text == "a\nb\nb\n");
  const DocumentEnd separator("<|endoftext|>");
  const Cleaned cleaned =
      clean({{"in", "a\n\nb\n<|endoftext|>\n<|endoftext|>\nc\n<|endoftext|>\n"}}, documents(separator));
  CHECK(cleaned.text == "a\n\nb\n<|endoftext|>\nc\n<|endoftext|>\n");
  CHECK(cleaned.summary.kept == 2);
  const Cleaned whole = clean({{"a", "one\n\ntext"}, {"b", "\xE9t\xE9"}}, documents(DocumentEnd::whole));
  CHECK(whole.summary.kept == 1);
  CHECK(contains(whole.report, "invalid-utf8"));
}

TEST_CASE("cleaning of documents: every n-th is held out, and options of pairs are refused") {
  CleaningOptions options = documents();
  options.holdout_every = 2;
  const Cleaned cleaned = clean({{"in", "a\n\nb\n\nc\n"}}, options);
  CHECK(cleaned.text == "a\n\nc\n");
  CHECK(cleaned.summary.held_out == 1);
  CleaningOptions lines;
  lines.near_duplicates.similarity = 0.8;
  CHECK(contains(error_of([&] { clean({{"in", "a\n"}}, lines); }), "--near-duplicates compares documents"));
  CHECK_THROWS_AS(documents().validate(2), UsageError);
}
