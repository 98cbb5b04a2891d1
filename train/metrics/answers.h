// Scores of generated answers by the metrics of LongBench (Bai et al. 2023), which answer questions, summarize,
// classify, retrieve, count and complete code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"

namespace gyre {

// The names in LongBench's metrics.py follow. Where LongBench divides Chinese text into the words of jieba, Gyre takes
// characters, so the scores differ and have names of their own.
enum class AnswerMetric : uint8_t {
  exact_match,         // 1 if both are equal after SQuAD's normalization
  f1,                  // qa_f1_score: F1 of the words of both, normalized
  f1_characters,       // qa_f1_zh_score, with characters
  rouge_l,             // rouge_score: F1 of ROUGE-L by the package rouge
  rouge_l_characters,  // rouge_zh_score, with characters
  classification,      // classification_score: the right class among all classes that the prediction names
  retrieval,           // retrieval_score: share of the right paragraph among the numbers of the prediction
  retrieval_zh,        // retrieval_zh_score
  count,               // count_score: share of the right number among the numbers of the prediction
  edit_similarity,     // code_sim_score: similarity of the first line of code, by fuzzywuzzy with difflib
};

template <>
inline constexpr std::pair<AnswerMetric, std::string_view> kEnumNames<AnswerMetric>[] = {
    {AnswerMetric::exact_match, "exact-match"},
    {AnswerMetric::f1, "f1"},
    {AnswerMetric::f1_characters, "f1-characters"},
    {AnswerMetric::rouge_l, "rouge-l"},
    {AnswerMetric::rouge_l_characters, "rouge-l-characters"},
    {AnswerMetric::classification, "classification"},
    {AnswerMetric::retrieval, "retrieval"},
    {AnswerMetric::retrieval_zh, "retrieval-zh"},
    {AnswerMetric::count, "count"},
    {AnswerMetric::edit_similarity, "edit-similarity"}};

// The score of a prediction, 0..1, for one right answer. `classes`: all classes, which only classification reads.
// Throws an Error for an answer of a retrieval task that names no paragraph.
double answer_score(AnswerMetric metric, std::string_view prediction, std::string_view answer,
                    const std::vector<std::string>& classes = {});

}  // namespace gyre
