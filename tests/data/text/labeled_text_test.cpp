#include "gyre/data/text/labeled_text.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "gyre/data/text/line_report.h"
#include "gyre/data/text/text_tasks.h"
#include "tests/data/text_files.h"
#include "tests/shared_data.h"

using namespace gyre;

namespace {

// A file of labeled texts that a test writes and reads.
template <class Text, class... Format>
struct Written {
  TemporaryDirectory directory;
  gyre::Path path;
  explicit Written(std::string_view text) : path(write_text(directory, "t.tsv", text)) {}

  Text read(const Format&... format, gyre::OnBadLine policy = gyre::OnBadLine::by_kind) const {
    return {path, format..., policy};
  }
  std::string error(const Format&... format, gyre::OnBadLine policy = gyre::OnBadLine::by_kind) const {
    return error_of([&] { read(format..., policy); });
  }
  // Checks and returns whether the error begins with this line and this text.
  bool fails_at(int line, const std::string& text, const Format&... format) const {
    const std::string message = error(format...);
    CAPTURE(message);
    const bool fits = message.starts_with(gyre::concat("[data] ", path.string(), ":", line, ": ", text));
    CHECK(fits);
    return fits;
  }
};

const std::vector<std::string> kEntailment{"entailment", "neutral", "contradiction"};

LabeledFormat pairs_by_name() { return {true, Column{"premise"}, Column{"hypothesis"}, Column{"gold"}, kEntailment}; }

LabeledFormat singles_by_number() { return {false, Column{"", 1}, {}, Column{"", 0}, {"0", "1"}}; }

using WrittenLabels = Written<LabeledText, LabeledFormat>;

}  // namespace

TEST_CASE("labeled text: columns by name in any order, CRLF, a byte order mark, quotes as ordinary characters") {
  const WrittenLabels file(
      "\xEF\xBB\xBFgold\tid\thypothesis\tpremise\r\n"
      "neutral\t7\t\"No.\tHe said \"yes\", \"no\"\r\n"
      "contradiction\t8\tb, c \t a\textra column\r\n"
      "entailment\t9\td\"\te");
  const LabeledText text = file.read(pairs_by_name());
  REQUIRE(text.rows().size() == 3);
  CHECK(text.rows()[0].line == 2);
  CHECK(text.rows()[0].text[0] == "He said \"yes\", \"no\"");
  CHECK(text.rows()[0].text[1] == "\"No.");
  CHECK(text.rows()[0].label == 1);
  CHECK(text.rows()[1].text[0] == " a");
  CHECK(text.rows()[1].text[1] == "b, c ");
  CHECK(text.rows()[1].label == 2);
  CHECK(text.rows()[2].text[1] == "d\"");
  CHECK(text.rows()[2].label == 0);
  CHECK(text.describe() == file.path.string() + ": 3 rows; labels: 1 x entailment, 1 x neutral, 1 x contradiction");
}

TEST_CASE("labeled text: columns by number, also counted from the end") {
  const WrittenLabels file("1\ta\tx\n0\tb\ty\n");
  const LabeledText text = file.read(singles_by_number());
  REQUIRE(text.rows().size() == 2);
  CHECK(text.rows()[0].line == 1);
  CHECK(text.rows()[0].text[0] == "a");
  CHECK(text.rows()[0].text[1].empty());
  CHECK(text.rows()[0].label == 1);
  LabeledFormat from_end{false, Column{"", -2}, {}, Column{"", -3}, {"0", "1"}};
  CHECK(file.read(from_end).rows()[1].text[0] == "b");
  CHECK(file.read(from_end).rows()[1].label == 0);
  from_end.has_header = true;  // columns without names are still found by number
  CHECK(file.read(from_end).rows().size() == 1);
}

TEST_CASE("labeled text: without a header line, names of columns are ignored") {
  const LabeledFormat format{false, Column{"sentence", 1}, {}, Column{"label", 0}, {"0", "1"}};
  CHECK(WrittenLabels("1\ta\n").read(format).rows()[0].text[0] == "a");
}

TEST_CASE("labeled text: numbers as labels") {
  const LabeledFormat format{false, Column{"", 0}, {}, Column{"", 1}, {}};
  const LabeledText text = WrittenLabels("a\t3.8\nb\t-2e-1\nc\t5\n").read(format);
  CHECK(text.rows()[0].score == 3.8);
  CHECK(text.rows()[1].score == -0.2);
  CHECK(text.rows()[2].score == 5);
  CHECK(contains(text.describe(), ": 3 rows; labels: -0.2 to 5"));
  for (const std::string bad : {"", "x", "3,8", "3.8 ", "nan", "inf", "1e999"}) {
    WrittenLabels("a\t1\nb\t" + bad + "\n").fails_at(2, "expected a number, got \"" + bad + "\"", format);
  }
  for (const std::string bad : {"1e300", "-3.5e38"}) {
    WrittenLabels("a\t1\nb\t" + bad + "\n")
        .fails_at(2, "expected a number in the range of a float, got \"" + bad + "\"", format);
  }
}

TEST_CASE("labeled text: rows without labels, for prediction") {
  LabeledFormat format = singles_by_number();
  format.label.reset();
  format.text.number = 0;
  const LabeledText text = WrittenLabels("a\nb\n").read(format);
  CHECK(text.rows()[1].label == -1);
  CHECK(text.describe().ends_with("t.tsv: 2 rows"));
}

TEST_CASE("labeled text: errors name the line, the expected and the actual content") {
  const LabeledFormat numbers = singles_by_number();
  WrittenLabels("1\ta\n1\n0\tb\n0\n")
      .fails_at(2,
                "expected at least 2 tab-separated columns, got 1: 2 lines with a wrong number of columns (lines 2, 4)",
                numbers);
  WrittenLabels("1\ta\n2\tb\n")
      .fails_at(2, "expected one of the labels \"0\", \"1\", got \"2\": 1 line with a bad label (line 2)", numbers);
  WrittenLabels("1\ta\n1\tb\xC3\n").fails_at(2, "byte 4 (0xC3): 1 line with invalid UTF-8 (line 2)", numbers);
  WrittenLabels("gold\tpremise\thyp\n")
      .fails_at(1, R"(expected one column named "hypothesis" in the header line, got "gold", "premise", "hyp")",
                pairs_by_name());
  WrittenLabels("gold\tpremise\tpremise\thypothesis\n")
      .fails_at(1, R"(expected one column named "premise" in the header line, got "gold", "premise", "premise")",
                pairs_by_name());
  WrittenLabels("gold\tpre\xFFmise\n")
      .fails_at(1, "expected UTF-8 in the header line, got byte 9 (0xFF)", pairs_by_name());
}

TEST_CASE("labeled text: JSON lines are no table; a table may have JSON in a cell") {
  const std::string expected = ": expected tab-separated columns, got JSON lines";
  for (const std::string text : {"{\"text\": \"a\", \"label\": 1}\n", "\n{\"text\": \"a\"}\n"}) {
    const WrittenLabels json(text);
    CHECK(contains(json.error(singles_by_number(), OnBadLine::skip), json.path.string() + expected));
    CHECK(contains(json.error(pairs_by_name(), OnBadLine::skip), json.path.string() + expected));
  }
  const LabeledFormat text_first{false, Column{"", 0}, {}, Column{"", 1}, {"0", "1"}};
  CHECK(WrittenLabels("{\"a\": 1}\t1\n").read(text_first).rows()[0].text[0] == "{\"a\": 1}");
}

TEST_CASE("labeled text: a file without rows is an error") {
  const WrittenLabels empty("");
  CHECK(empty.error(pairs_by_name()) ==
        "[data] " + empty.path.string() + ": expected a header line, the file is empty");
  CHECK(empty.error(singles_by_number()) ==
        "[data] expected at least one row, got " + empty.path.string() + ": 0 rows");
  const WrittenLabels header("gold\tpremise\thypothesis\n\n");
  CHECK(header.error(pairs_by_name()) ==
        "[data] expected at least one row, got " + header.path.string() + ": 0 rows, skipped 1 empty (line 2)");
  CHECK(contains(error_of([&] { LabeledText(header.directory / "none", singles_by_number(), OnBadLine::skip); }),
                 (header.directory / "none").string()));
}

TEST_CASE("labeled text: bad rows are skipped, counted and reported according to the policy") {
  const WrittenLabels file("1\ta\n\n1\t  \n0\n2\tb\n1\t\xFF\n0\tc\n");
  const LabeledText text = file.read(singles_by_number(), OnBadLine::skip);
  REQUIRE(text.rows().size() == 2);
  CHECK(text.rows()[1].line == 7);
  CHECK(text.report().kept == 2);
  CHECK(
      text.describe() ==
      file.path.string() +
          ": 2 rows, skipped 1 with invalid UTF-8 (line 6), 1 with a wrong number of columns (line 4), 2 empty (lines "
          "2, 3), 1 with a bad label (line 5); labels: 1 x 0, 1 x 1");
  const WrittenLabels blank("1\ta\n0\t\n");
  CHECK(blank.read(singles_by_number()).report().of(BadLine::empty).count == 1);
  CHECK(contains(blank.error(singles_by_number(), OnBadLine::error), ":2: a text is empty: 1 line empty (line 2)"));
}

namespace {

using WrittenTriplets = Written<TripletText>;

}  // namespace

TEST_CASE("triplets: JSON lines with labels, CRLF, a byte order mark, escapes, other keys") {
  const WrittenTriplets file(
      "\xEF\xBB\xBF{\"A\": \"a\\n1\", \"B\": \"b\", \"C\": \"c\", \"label\": \"C\"}\r\n"
      "  {\"id\": 7, \"label\": \"B\", \"C\": \"\\u00e9\", \"B\": \"\xC3\xA9\\t\", \"A\": \"x\"}\r\n"
      "{\"A\": \"1\", \"B\": \"2\", \"C\": \"3\", \"label\": \"B\"}");
  const TripletText text = file.read();
  REQUIRE(text.triplets().size() == 3);
  const Triplet &first = text.triplets()[0], &second = text.triplets()[1];
  CHECK(first.a == "a\n1");
  CHECK(first.nearer() == "c");
  CHECK(first.farther() == "b");
  CHECK(second.line == 2);
  CHECK(second.nearer() == "\xC3\xA9\t");
  CHECK(second.farther() == "\xC3\xA9");
  CHECK(text.describe() == file.path.string() + ": 3 triplets; nearer: 2 x B, 1 x C");
}

TEST_CASE("triplets: columns in any order, with and without labels") {
  const TripletText labeled =
      WrittenTriplets("label\tC\tid\tA\tB\r\nC\tfar \"x\"\t1\t a\tb\r\nB\tc\t2\td\te\textra\r\n").read();
  REQUIRE(labeled.triplets().size() == 2);
  CHECK(labeled.triplets()[0].nearer() == "far \"x\"");
  CHECK(labeled.triplets()[0].a == " a");
  CHECK(labeled.triplets()[1].nearer() == "e");
  CHECK(labeled.triplets()[1].line == 3);
  const TripletText plain = WrittenTriplets("A\tB\tC\n1\t2\t3\n").read();
  REQUIRE(plain.triplets().size() == 1);
  CHECK(plain.triplets()[0].nearer() == "2");
}

TEST_CASE("triplets: empty texts are skipped and counted") {
  const WrittenTriplets file("A\tB\tC\n\na\t \tc\na\tb\tc\n");
  CHECK(file.read().describe() ==
        file.path.string() + ": 1 triplet, skipped 2 empty (lines 2, 3); nearer: 1 x B, 0 x C");
  CHECK(contains(file.error(OnBadLine::error), ":2: a blank line: 2 lines empty (lines 2, 3)"));
  const WrittenTriplets objects(
      "{\"A\": \"a\", \"B\": \"b\", \"C\": \"c\"}\n\n{\"A\": \"a\", \"B\": \"\", \"C\": \"c\"}\n");
  CHECK(objects.read().triplets().size() == 1);
}

TEST_CASE("triplets: errors name the file and the line") {
  const std::string good = "{\"A\": \"a\", \"B\": \"b\", \"C\": \"c\"}\n";
  CHECK(contains(WrittenTriplets("").error(), "expected triplets of texts, the file is empty"));
  CHECK(contains(WrittenTriplets("A\tB\tC\n").error(), "expected at least one triplet, got"));
  CHECK(WrittenTriplets("\n").fails_at(1, "expected a JSON object, or a header line with one column \"A\", got"));
  CHECK(WrittenTriplets("A\tB\tB\tC\n1\t2\t3\t4\n")
            .fails_at(1, "expected a JSON object, or a header line with one column \"B\""));
  CHECK(WrittenTriplets("A\tB\tC\tlabel\tlabel\n")
            .fails_at(1, "expected a JSON object, or a header line with at most one"));
  CHECK(WrittenTriplets("A\tB\xFF\tC\n").fails_at(1, "expected UTF-8 in the header line, got byte 4 (0xFF)"));
  CHECK(WrittenTriplets("A\tB\tC\tlabel\n1\t2\t3\n").fails_at(2, "expected at least 4 tab-separated columns, got 3"));
  CHECK(WrittenTriplets("A\tB\tC\tlabel\n1\t2\t3\tA\n").fails_at(2, "expected the label \"B\" or \"C\", got \"A\""));
  CHECK(WrittenTriplets(good + "{\"A\": \"a\", \"B\": \"b\"}\n").fails_at(2, "expected a text \"C\", got none"));
  CHECK(WrittenTriplets(good + "{\"A\": 1, \"B\": \"b\", \"C\": \"c\"}\n").fails_at(2, "expected a text \"A\", got 1"));
  CHECK(WrittenTriplets(good + "{\"A\": \"a\"\n").fails_at(2, "the line is not valid JSON"));
  CHECK(WrittenTriplets(good + "{\"A\": \"a\", \"B\": \"b\", \"C\": \"c\", \"label\": \"C\"}\n")
            .fails_at(2, "expected no \"label\", as in the first object"));
  CHECK(WrittenTriplets("{\"A\": \"a\", \"B\": \"b\", \"C\": \"c\", \"label\": \"C\"}\n" + good)
            .fails_at(2, "expected a \"label\", as in the first object"));
  CHECK(WrittenTriplets(good + "[1]\n").fails_at(2, "expected a JSON object, got [1]"));
  CHECK(WrittenTriplets(good + "{\"A\": \"\xFF\", \"B\": \"b\", \"C\": \"c\"}\n").fails_at(2, "byte 8 (0xFF)"));
  const WrittenTriplets twice(good + good + "{\"A\": \"a\", \"A\": \"a\", \"B\": \"b\", \"C\": \"c\"}\n{}\n");
  CHECK(twice.fails_at(3, "duplicate key \"A\": 2 lines with bad JSON (lines 3, 4)"));
  CHECK(twice.read(OnBadLine::skip).triplets().size() == 2);
}

TEST_CASE("triplets: CAIL2019-SCM") {
  const char* file = "chinese/cail2019_scm.jsonl";
  if (!require_shared_data({file})) return;
  const TripletText text(shared_data() / file, OnBadLine::error);
  CHECK(text.triplets().size() == 400);
  CHECK(text.describe().ends_with("; nearer: 400 x B, 0 x C"));
}

// ---- Tests the table of GLUE tasks, and reads the real files if they are available ---------------------------------

namespace {

// Returns the row of a file with a single row.
LabeledRow only_row(const LabeledText& text) {
  REQUIRE(text.rows().size() == 1);
  return text.rows()[0];
}

void check_file(const std::string& task, const std::string& header, const std::string& row, const std::string& first,
                const std::string& second, double label) {
  CAPTURE(task);
  TemporaryDirectory directory;
  LabeledFormat format = text_task(task).format;
  CHECK(format.has_header == !header.empty());
  const LabeledText text(write_text(directory, "t", header.empty() ? row : header + "\n" + row), format,
                         OnBadLine::error);
  const LabeledRow read = only_row(text);
  CHECK(read.text[0] == first);
  CHECK(read.text[1] == second);
  CHECK((format.is_regression() ? read.score : read.label) == label);
  // The column numbers find the same columns.
  format.has_header = false;
  const LabeledText by_number(write_text(directory, "u", row), format, OnBadLine::error);
  CHECK(only_row(by_number).text == read.text);
  CHECK(only_row(by_number).label == read.label);
}

const Path kGlue = shared_data() / "glue";

// Reads a file without bad lines and returns its description without the name of the file.
std::string described(const char* name, const LabeledFormat& format) {
  const LabeledText text(kGlue / name, format, OnBadLine::error);
  return text.describe().substr(text.report().files.size() + 2);
}

}  // namespace

TEST_CASE("task presets: read the file formats that GLUE distributes") {
  check_file("glue-cola", "", "gj04\t0\t*\tThem it.", "Them it.", "", 0);
  check_file("glue-sst2", "sentence\tlabel", "so good \t1", "so good ", "", 1);
  check_file("glue-mrpc", "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String", "1\t7\t8\ta\tb", "a", "b", 1);
  check_file("glue-qqp", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "5\t6\t7\ta?\tb?\t0", "a?", "b?", 0);
  check_file("glue-stsb", "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
             "0\tg\tf\t2012\t1\tnone\tnone\ta\tb\t3.200", "a", "b", 3.2);
  const std::string mnli = "index\tpromptID\tpairID\tgenre\ts1_bp\ts2_bp\ts1_parse\ts2_parse\tsentence1\tsentence2\t";
  const std::string row = "0\t1\t1n\tg\t(\t(\t(\t(\ta\tb\t";
  check_file("glue-mnli", mnli + "label1\tgold_label", row + "neutral\tneutral", "a", "b", 1);
  check_file("glue-mnli", mnli + "label1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label",
             row + "neutral\tneutral\tneutral\tneutral\tneutral\tcontradiction", "a", "b", 2);
  check_file("glue-qnli", "index\tquestion\tsentence\tlabel", "0\tq?\ts.\tnot_entailment", "q?", "s.", 1);
  check_file("glue-rte", "index\tsentence1\tsentence2\tlabel", "0\ta\tb\tentailment", "a", "b", 0);
}

TEST_CASE("task presets: pairs, regression and metrics") {
  CHECK(text_tasks().size() == 8);
  for (const TextTask& task : text_tasks()) {
    CHECK(&text_task(task.name) == &task);
    CHECK(task.is_pair() == (task.name != "glue-sst2" && task.name != "glue-cola"));
    CHECK(task.is_regression() == (task.name == "glue-stsb"));
    CHECK(!task.metrics.empty());
  }
  CHECK(text_task("glue-mrpc").metrics == std::vector<std::string>{"f1", "accuracy"});
  CHECK(text_task("glue-stsb").metrics == std::vector<std::string>{"spearman", "pearson"});
}

TEST_CASE("task presets: the error for an unknown task suggests the nearest name") {
  CHECK_THROWS_WITH_AS(text_task("glue-sst"),
                       "[task] expected one of glue-cola, glue-sst2, glue-mrpc, glue-qqp, glue-stsb, glue-mnli, "
                       "glue-qnli, glue-rte, got glue-sst; did you mean glue-sst2?",
                       UsageError);
}

TEST_CASE("task presets: the real GLUE files are read completely") {
  if (!require_shared_data({"glue"})) return;
  CHECK(described("SST-2/train.tsv", text_task("glue-sst2").format) == "60614 rows; labels: 26786 x 0, 33828 x 1");
  CHECK(described("SST-2/dev.tsv", text_task("glue-sst2").format) == "6735 rows; labels: 2994 x 0, 3741 x 1");
  CHECK(described("QNLI/labelled.tsv", text_task("glue-qnli").format) ==
        "5463 rows; labels: 2702 x entailment, 2761 x not_entailment");
  CHECK(described("RTE/dev.tsv", text_task("glue-rte").format) ==
        "277 rows; labels: 146 x entailment, 131 x not_entailment");
  CHECK(described("CoLA/dev.tsv", text_task("glue-cola").format) == "1043 rows; labels: 322 x 0, 721 x 1");
  LabeledFormat mrpc = text_task("glue-mrpc").format;
  mrpc.has_header = false;  // these copies have no header line
  CHECK(described("MRPC/msr_paraphrase_train.txt", mrpc) == "4076 rows; labels: 1323 x 0, 2753 x 1");
  CHECK(described("MRPC/msr_paraphrase_test.txt", mrpc) == "1725 rows; labels: 578 x 0, 1147 x 1");
  LabeledFormat mnli = text_task("glue-mnli").format;  // another layout: label, premise, hypothesis
  mnli = {false, Column{"", 1}, Column{"", 2}, Column{"", 0}, mnli.classes};
  CHECK(described("MNLI/textfooler_mnli_matched.tsv", mnli) ==
        "1000 rows; labels: 373 x entailment, 311 x neutral, 316 x contradiction");
  CHECK(described("MNLI/textfooler_mnli_mismatched.tsv", mnli) ==
        "1000 rows; labels: 346 x entailment, 319 x neutral, 335 x contradiction");
}
