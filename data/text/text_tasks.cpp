#include "gyre/data/text/text_tasks.h"

#include "gyre/core/error.h"
#include "gyre/core/suggestions.h"

namespace gyre {

namespace {

const std::vector<std::string> kNoYes{"0", "1"};
const std::vector<std::string> kEntailment{"entailment", "not_entailment"};

std::vector<TextTask> make_tasks() {
  using C = Column;
  return {
      {"glue-cola", {false, C{"", 3}, {}, C{"", 1}, kNoYes}, {"matthews", "accuracy"}},
      {"glue-sst2", {true, C{"sentence", 0}, {}, C{"label", 1}, kNoYes}, {"accuracy"}},
      {"glue-mrpc", {true, C{"#1 String", 3}, C{"#2 String", 4}, C{"Quality", 0}, kNoYes}, {"f1", "accuracy"}},
      {"glue-qqp", {true, C{"question1", 3}, C{"question2", 4}, C{"is_duplicate", 5}, kNoYes}, {"f1", "accuracy"}},
      {"glue-stsb", {true, C{"sentence1", 7}, C{"sentence2", 8}, C{"score", 9}, {}}, {"spearman", "pearson"}},
      {"glue-mnli",
       {true, C{"sentence1", 8}, C{"sentence2", 9}, C{"gold_label", -1}, {"entailment", "neutral", "contradiction"}},
       {"accuracy"}},
      {"glue-qnli", {true, C{"question", 1}, C{"sentence", 2}, C{"label", 3}, kEntailment}, {"accuracy"}},
      {"glue-rte", {true, C{"sentence1", 1}, C{"sentence2", 2}, C{"label", 3}, kEntailment}, {"accuracy"}},
  };
}

}  // namespace

const std::vector<TextTask>& text_tasks() {
  static const std::vector<TextTask> tasks = make_tasks();
  return tasks;
}

const TextTask& text_task(std::string_view name) {
  std::vector<std::string> names;
  std::string listed;
  for (const TextTask& task : text_tasks()) {
    if (task.name == name) return task;
    names.push_back(task.name);
    listed += (listed.empty() ? "" : ", ") + task.name;
  }
  throw UsageError("[task] expected one of ", listed, ", got ", name, did_you_mean(name, names));
}

}  // namespace gyre
