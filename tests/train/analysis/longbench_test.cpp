// The reading, the prompts and the scores of LongBench's tasks.
#include "gyre/train/analysis/longbench.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "tests/errors.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

// The records of a file with these lines.
std::vector<AnswerRecord> records_of(const std::string& name, const std::string& lines) {
  const TemporaryDirectory directory;
  put_file(directory / name, lines);
  return read_answer_records(directory / name);
}

// The error for such a file, without the directory.
std::string error_for(const std::string& lines) {
  const std::string message = error_of([&] { records_of("qasper.jsonl", lines); });
  return message.substr(message.rfind('/') + 1);
}

}  // namespace

TEST_CASE("a record of LongBench is read with its texts") {
  const auto records =
      records_of("qasper.jsonl", R"({"input": "Who?", "context": "A {b}.", "answers": ["she", "he"], "length": 4000, )"
                                 R"("dataset": "hotpotqa_e", "language": "en", "all_classes": null, "_id": "1"})"
                                 "\n"
                                 R"({"pred": "a", "answers": "a", "all_classes": ["a", "b"]})");
  REQUIRE(records.size() == 2);
  CHECK(records[0].dataset == "hotpotqa");
  CHECK(records[0].answers == std::vector<std::string>{"she", "he"});
  CHECK(records[0].length == 4000);
  CHECK(!records[0].prediction);
  CHECK(fill_prompt("{{{context}}} {input}", records[0]) == "{A {b}.} Who?");
  CHECK(records[1].dataset == "qasper");
  CHECK(records[1].prediction == "a");
  CHECK(records[1].classes == std::vector<std::string>{"a", "b"});
  CHECK(!records[1].length);
  CHECK(records_of("trec_e.jsonl.gz", "{}").front().dataset == "trec");
  CHECK(records_of("mine_e.jsonl", "{}").front().dataset == "mine_e");
}

TEST_CASE("a line that is no record is named") {
  CHECK(error_for("") == "qasper.jsonl: expected JSON lines, got an empty file");
  CHECK(error_for("{}\n[]\n") == "qasper.jsonl:2: expected a JSON object, got array");
  CHECK(contains(error_for("{\"answers\": \n"), "qasper.jsonl:1: "));
  CHECK(error_for("{\"answers\": [1]}") == "qasper.jsonl:1: \"answers\": expected a list of strings, got [1]");
  CHECK(error_for("{\"length\": \"9\"}") == "qasper.jsonl:1: \"length\": expected an integer, got \"9\"");
}

TEST_CASE("a prompt needs the texts that it names") {
  const AnswerRecord record{.place = "a:1", .texts = {{"input", "x"}}};
  CHECK(error_of([&] { fill_prompt("{context}", record); }) ==
        "a:1: expected a text \"context\" for the prompt, found none");
  for (const char* prompt : {"a {", "a }", "{input", "}{input}"})
    CHECK(contains(error_of([&] { fill_prompt(prompt, record); }), "expected {key}, {{ or }}, got an unpaired"));
}

TEST_CASE("every task has a prompt with the context") {
  CHECK(longbench_tasks().size() == 21);
  const AnswerRecord record{.place = "a:1", .texts = {{"input", "<input>"}, {"context", "<context>"}}};
  for (const LongBenchTask& task : longbench_tasks()) {
    CAPTURE(task.dataset);
    CHECK(contains(fill_prompt(task.prompt, record), "<context>"));
    CHECK(task.max_tokens >= 32);
    CHECK(find_longbench_task(task.dataset) == &task);
  }
  CHECK(find_longbench_task("squad") == nullptr);
}

TEST_CASE("a long prompt keeps both ends") {
  std::vector<int32_t> ids(10);
  std::iota(ids.begin(), ids.end(), 0);
  cut_middle(ids, 10);
  CHECK(ids.size() == 10);
  cut_middle(ids, 5);
  CHECK(ids == std::vector<int32_t>{0, 1, 8, 9});
}

TEST_CASE("a record has the score of its best answer") {
  const AnswerRecord record{.place = "a:1", .answers = {"the cat", "a dog barks"}};
  CHECK(record_score(record, "dog", AnswerMetric::f1, false) == doctest::Approx(2.0 / 3));
  CHECK(record_score(record, "\n\ncat\ndog", AnswerMetric::f1, true) == 1);
  CHECK(record_score(record, "\n\ncat\ndog", AnswerMetric::f1, false) < 1);
  CHECK(error_of([] { record_score({.place = "a:1"}, "", AnswerMetric::f1, false); }) ==
        "a:1: expected \"answers\", found none");
  CHECK(contains(error_of([&] { record_score(record, "", AnswerMetric::classification, false); }), "all_classes"));
  CHECK(
      contains(error_of([&] { record_score(record, "", AnswerMetric::retrieval, false); }), "a:1: expected an answer"));
}

TEST_CASE("scores are divided by length as in LongBench-E") {
  DatasetScore score{"qasper", "", AnswerMetric::f1};
  score.add(1, 3999);
  score.add(0.5, 4000);
  score.add(0, 7999);
  score.add(1, 8000);
  score.add(0, std::nullopt);
  CHECK(score.all.percent() == doctest::Approx(50));
  CHECK(score.by_length[0].percent() == 100);
  CHECK(score.by_length[1].percent() == 25);
  CHECK(score.by_length[2].percent() == 100);
  CHECK(std::isnan(DatasetScore().all.percent()));
}
