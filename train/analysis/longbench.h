// The tasks of LongBench (Bai et al. 2023): their prompts and metrics, its JSON lines, and scores by length.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/train/metrics/answers.h"

namespace gyre {

struct LongBenchTask {
  std::string_view dataset, category;
  AnswerMetric metric;
  int max_tokens;           // limit of a generated answer
  bool is_first_line;       // whether an answer ends with its first line that is not empty
  std::string_view prompt;  // template for fill_prompt()
};

// All tasks, in the order of the paper.
std::span<const LongBenchTask> longbench_tasks();
// The task of a data set; null if LongBench has none of this name.
const LongBenchTask* find_longbench_task(std::string_view dataset);

// A record of LongBench, or of the predictions that its pred.py writes.
struct AnswerRecord {
  std::string place{};                 // "hotpotqa.jsonl:3", for messages
  std::string dataset{};               // name in the record, else that of its file; without the "_e" of LongBench-E
  std::vector<std::string> answers{};  // all right answers; empty: unknown
  std::vector<std::string> classes{};  // all classes of a classification
  std::optional<int64_t> length{};     // of input and context, in words or Chinese characters
  std::optional<std::string> prediction{};     // "pred", or "text" as in gyre generate --json
  std::map<std::string, std::string> texts{};  // all strings of the record by their key, such as "context" and "input"
};

// Reads JSON lines. Throws an Error with the place of a line that is not a record.
std::vector<AnswerRecord> read_answer_records(const Path& file);

// The prompt of a record: in the template, as in Python's str.format(), {key} stands for that text of the record, {{
// for { and }} for }. Throws an Error for a key that the record lacks and for an unpaired brace.
std::string fill_prompt(std::string_view prompt, const AnswerRecord& record);

// Shortens a prompt as LongBench does, which keeps both ends: at most `limit` ids, half of them from each end.
void cut_middle(std::vector<int32_t>& ids, size_t limit);

// The first line of a text that is not empty.
std::string_view first_line(std::string_view text);

// The best score of the prediction for any of the answers, 0..1. Throws an Error with the place of the record.
double record_score(const AnswerRecord& record, std::string_view prediction, AnswerMetric metric, bool is_first_line);

// The mean of scores.
struct MeanScore {
  int64_t records = 0;
  double sum = 0;

  void add(double score) {
    ++records;
    sum += score;
  }
  double percent() const { return 100 * sum / double(records); }  // NaN without records
};

// The scores of one data set, of all records and by their length, as LongBench-E divides them.
struct DatasetScore {
  static constexpr std::array<std::string_view, 3> kLengths{"0-4k", "4-8k", "8k+"};

  std::string dataset{}, category{};
  AnswerMetric metric{};
  MeanScore all{};
  std::array<MeanScore, 3> by_length{};

  void add(double score, std::optional<int64_t> length);
};

}  // namespace gyre
