// Tests the table of GLUE tasks, and reads the real files if they are available.
#include "gyre/data/text/text_tasks.h"

#include <doctest/doctest.h>

#include "tests/data/text_files.h"
#include "tests/shared_data.h"

using namespace gyre;

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
