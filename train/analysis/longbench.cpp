#include "gyre/train/analysis/longbench.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_stream.h"

namespace gyre {

namespace {

// The prompts are LongBench's to the letter (MIT license), misspellings included, because scores depend on them.
constexpr std::string_view kPassages =
    "Answer the question based on the given passages. Only give me the answer and do "
    "not output any other words.\n\nThe following are given passages.\n{context}\n\nAnswer "
    "the question based on the given passages. Only give me the answer and do not output "
    "any other words.\n\nQuestion: {input}\nAnswer:";

constexpr LongBenchTask kTasks[] = {
    {"narrativeqa", "single-document QA", AnswerMetric::f1, 128, false,
     "You are given a story, which can be either a novel or a movie script, and a question. "
     "Answer the question asconcisely as you can, using a single phrase if possible. "
     "Do not provide any explanation.\n\nStory: {context}\n\nNow, answer the question "
     "based on the story asconcisely as you can, using a single phrase if possible. "
     "Do not provide any explanation.\n\nQuestion: {input}\n\nAnswer:"},
    {"qasper", "single-document QA", AnswerMetric::f1, 128, false,
     "You are given a scientific article and a question. Answer the question as concisely "
     "as you can, using a single phrase or sentence if possible. If the question cannot "
     "be answered based on the information in the article, write \"unanswerable\". If "
     "the question is a yes/no question, answer \"yes\", \"no\", or \"unanswerable\". "
     "Do not provide any explanation.\n\nArticle: {context}\n\n Answer the question "
     "based on the above article as concisely as you can, using a single phrase or sentence "
     "if possible. If the question cannot be answered based on the information in the "
     "article, write \"unanswerable\". If the question is a yes/no question, answer "
     "\"yes\", \"no\", or \"unanswerable\". Do not provide any explanation.\n\nQuestion: "
     "{input}\n\nAnswer:"},
    {"multifieldqa_en", "single-document QA", AnswerMetric::f1, 64, false,
     "Read the following text and answer briefly.\n\n{context}\n\nNow, answer the following "
     "question based on the above text, only give me the answer and do not output any "
     "other words.\n\nQuestion: {input}\nAnswer:"},
    {"multifieldqa_zh", "single-document QA", AnswerMetric::f1_characters, 64, false,
     "阅读以下文字并用中文简短回答：\n\n{context}\n\n现在请基于上面的文章回答下面的问题，"
     "只告诉我答案，不要输出任何其他字词。\n\n问题：{input}\n回答："},
    {"hotpotqa", "multi-document QA", AnswerMetric::f1, 32, false, kPassages},
    {"2wikimqa", "multi-document QA", AnswerMetric::f1, 32, false, kPassages},
    {"musique", "multi-document QA", AnswerMetric::f1, 32, false, kPassages},
    {"dureader", "multi-document QA", AnswerMetric::rouge_l_characters, 128, false,
     "请基于给定的文章回答下述问题。\n\n文章：{context}\n\n请基于上述文章回答下面的问题。"
     "\n\n问题：{input}\n回答："},
    {"gov_report", "summarization", AnswerMetric::rouge_l, 512, false,
     "You are given a report by a government agency. Write a one-page summary of the "
     "report.\n\nReport:\n{context}\n\nNow, write a one-page summary of the report.\n\nSummary:"},
    {"qmsum", "summarization", AnswerMetric::rouge_l, 512, false,
     "You are given a meeting transcript and a query containing a question or instruction. "
     "Answer the query in one or more sentences.\n\nTranscript:\n{context}\n\nNow, answer "
     "the query based on the above meeting transcript in one or more sentences.\n\nQuery: "
     "{input}\nAnswer:"},
    {"multi_news", "summarization", AnswerMetric::rouge_l, 512, false,
     "You are given several news passages. Write a one-page summary of all news. "
     "\n\nNews:\n{context}\n\nNow, write a one-page summary of all the news.\n\nSummary:"},
    {"vcsum", "summarization", AnswerMetric::rouge_l_characters, 512, false,
     "下面有一段会议记录，请你阅读后，写一段总结，总结会议的内容。\n会议记录：\n{context}\n\n会议总结："},
    {"trec", "few-shot learning", AnswerMetric::classification, 64, true,
     "Please determine the type of the question below. Here are some examples of questions."
     "\n\n{context}\n{input}"},
    {"triviaqa", "few-shot learning", AnswerMetric::f1, 32, true,
     "Answer the question based on the given passage. Only give me the answer and do "
     "not output any other words. The following are some examples.\n\n{context}\n\n{input}"},
    {"samsum", "few-shot learning", AnswerMetric::rouge_l, 128, true,
     "Summarize the dialogue into a few short sentences. The following are some examples."
     "\n\n{context}\n\n{input}"},
    {"lsht", "few-shot learning", AnswerMetric::classification, 64, true,
     "请判断给定新闻的类别，下面是一些例子。\n\n{context}\n{input}"},
    {"passage_count", "synthetic tasks", AnswerMetric::count, 32, false,
     "There are some paragraphs below sourced from Wikipedia. Some of them may be duplicates. "
     "Please carefully read these paragraphs and determine how many unique paragraphs "
     "there are after removing duplicates. In other words, how many non-repeating paragraphs "
     "are there in total?\n\n{context}\n\nPlease enter the final count of unique paragraphs "
     "after removing duplicates. The output format should only contain the number, such "
     "as 1, 2, 3, and so on.\n\nThe final answer is: "},
    {"passage_retrieval_en", "synthetic tasks", AnswerMetric::retrieval, 32, false,
     "Here are 30 paragraphs from Wikipedia, along with an abstract. Please determine "
     "which paragraph the abstract is from.\n\n{context}\n\nThe following is an abstract.\n\n{input}\n\nPl"
     "ease enter the number of the paragraph that the abstract is from. The answer format "
     "must be like \"Paragraph 1\", \"Paragraph 2\", etc.\n\nThe answer is: "},
    {"passage_retrieval_zh", "synthetic tasks", AnswerMetric::retrieval_zh, 32, false,
     "以下是若干段落文字，以及其中一个段落的摘要。请确定给定的摘要出自哪一段。\n\n{context}\n\n下面是一个摘"
     "要\n\n{input}\n\n请输入摘要所属段落的编号。答案格式必须是\"段落1\"，\"段落2\"等格式\n\n答案是："},
    {"lcc", "code completion", AnswerMetric::edit_similarity, 64, false,
     "Please complete the code given below. \n{context}Next line of code:\n"},
    {"repobench-p", "code completion", AnswerMetric::edit_similarity, 64, false,
     "Please complete the code given below. \n{context}{input}Next line of code:\n"},
};

}  // namespace

std::span<const LongBenchTask> longbench_tasks() { return kTasks; }

const LongBenchTask* find_longbench_task(std::string_view dataset) {
  const auto* const found = std::ranges::find(kTasks, dataset, &LongBenchTask::dataset);
  return found == std::end(kTasks) ? nullptr : found;
}

// ---- Records -------------------------------------------------------------------------------------------------------

namespace {

// The name of a data set without the "_e" that LongBench-E appends.
std::string dataset_of(std::string_view name) {
  constexpr std::string_view kEven = "_e";
  if (name.ends_with(kEven)) {
    const std::string_view stem = name.substr(0, name.size() - kEven.size());
    if (find_longbench_task(stem) != nullptr) name = stem;
  }
  return std::string(name);
}

// The strings of a list, or a single one. Null or no value: none.
std::vector<std::string> strings_at(const IndexedJson& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end() || found->is_null()) return {};
  if (found->is_string()) return {found->get<std::string>()};
  std::vector<std::string> strings;
  bool ok = found->is_array();
  for (size_t i = 0; ok && i < found->size(); ++i) {
    ok = (*found)[i].is_string();
    if (ok) strings.push_back((*found)[i].get<std::string>());
  }
  require(ok, "\"", key, "\": expected a list of strings, got ", cut_for_message(found->dump()));
  return strings;
}

AnswerRecord record_of(const IndexedJson& json, const Path& file) {
  require(json.is_object(), "expected a JSON object, got ", json.type_name());
  AnswerRecord record;
  for (const auto& [key, value] : json.items())
    if (value.is_string()) record.texts.emplace(key, value.get<std::string>());
  const auto text = [&](const char* key) {
    const auto found = record.texts.find(key);
    return found == record.texts.end() ? std::nullopt : std::optional(found->second);
  };
  const std::string name = file.filename().string();
  record.dataset = dataset_of(text("dataset").value_or(name.substr(0, name.find('.'))));
  record.answers = strings_at(json, "answers");
  record.classes = strings_at(json, "all_classes");
  record.prediction = text("pred");
  if (!record.prediction) record.prediction = text("text");
  if (const auto length = json.find("length"); length != json.end() && !length->is_null()) {
    require(length->is_number_integer(), "\"length\": expected an integer, got ", cut_for_message(length->dump()));
    record.length = length->get<int64_t>();
  }
  return record;
}

}  // namespace

std::vector<AnswerRecord> read_answer_records(const Path& file) {
  LineStream lines(file);
  std::vector<AnswerRecord> records;
  for (std::string line; lines.next(line);) {
    const std::string place = concat(lines.name(), ":", lines.line());
    try {
      records.push_back(record_of(parse_strict_json(line, kMaxJsonDepth, "", "the line"), file));
    } catch (const Error& error) {
      throw Error(place, ": ", error.what());
    }
    records.back().place = place;
  }
  require(!records.empty(), lines.name(), ": expected JSON lines, got an empty file");
  return records;
}

std::string fill_prompt(std::string_view prompt, const AnswerRecord& record) {
  std::string filled;
  for (size_t at = 0; at < prompt.size();) {
    const size_t brace = std::min(prompt.find_first_of("{}", at), prompt.size());
    filled += prompt.substr(at, brace - at);
    if (brace == prompt.size()) break;
    if (brace + 1 < prompt.size() && prompt[brace + 1] == prompt[brace]) {
      filled += prompt[brace];
      at = brace + 2;
      continue;
    }
    const size_t end = prompt.find('}', brace);
    require(prompt[brace] == '{' && end != std::string_view::npos,
            "[prompt] expected {key}, {{ or }}, got an unpaired ", prompt[brace]);
    const std::string key(prompt.substr(brace + 1, end - brace - 1));
    const auto text = record.texts.find(key);
    require(text != record.texts.end(), record.place, ": expected a text \"", key, "\" for the prompt, found none");
    filled += text->second;
    at = end + 1;
  }
  return filled;
}

void cut_middle(std::vector<int32_t>& ids, size_t limit) {
  if (ids.size() <= limit) return;
  const auto half = ptrdiff_t(limit / 2);
  ids.erase(ids.begin() + half, ids.end() - half);
}

std::string_view first_line(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
  return text.substr(0, text.find('\n'));
}

double record_score(const AnswerRecord& record, std::string_view prediction, AnswerMetric metric, bool is_first_line) {
  require(!record.answers.empty(), record.place, ": expected \"answers\", found none");
  require(metric != AnswerMetric::classification || !record.classes.empty(), record.place,
          ": expected \"all_classes\" for the metric classification, found none");
  if (is_first_line) prediction = first_line(prediction);
  double best = 0;
  try {
    for (const std::string& answer : record.answers)
      best = std::max(best, answer_score(metric, prediction, answer, record.classes));
  } catch (const Error& error) {
    throw Error(record.place, ": ", error.what());
  }
  return best;
}

void DatasetScore::add(double score, std::optional<int64_t> length) {
  constexpr int64_t kShort = 4000, kMiddle = 8000;
  all.add(score);
  if (length) by_length[*length < kShort ? 0 : *length < kMiddle ? 1 : 2].add(score);
}

}  // namespace gyre
