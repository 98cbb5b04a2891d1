// Cleaning of documents, the corpora of language models.
#include <doctest/doctest.h>

#include "gyre/data/text/cleaning/clean_corpus.h"
#include "tests/data/text_files.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

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

TEST_CASE("cleaning of documents: those that share words with a test set are dropped") {
  TemporaryDirectory directory;
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
