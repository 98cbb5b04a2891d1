#include "gyre/train/metrics/answers.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
#include "gyre/train/metrics/text.h"

namespace gyre {

namespace {

using WordList = std::vector<std::u32string>;

// ---- Classes of characters, as Python defines them -----------------------------------------------------------------

constexpr std::u32string_view kAsciiPunctuation = U"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr std::u32string_view kChinesePunctuation =
    U"！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞"
    U"〟〰〾〿–—‘’‛“”„‟…‧﹏.";

bool is_one_of(std::u32string_view set, char32_t c) { return set.find(c) != std::u32string_view::npos; }

// \d in a regular expression.
bool is_decimal(char32_t c) { return u_charType(UChar32(c)) == U_DECIMAL_DIGIT_NUMBER; }

// \w in a regular expression: letters, numbers and the underscore, but no combining marks.
bool is_in_word(char32_t c) {
  return c == U'_' || (U_GET_GC_MASK(UChar32(c)) & U_GC_L_MASK) != 0 ||
         u_getIntPropertyValue(UChar32(c), UCHAR_NUMERIC_TYPE) != U_NT_NONE;
}

// ---- Words ---------------------------------------------------------------------------------------------------------

std::u32string without(std::u32string text, std::u32string_view removed) {
  std::erase_if(text, [&](char32_t c) { return is_one_of(removed, c); });
  return text;
}

// Replaces English articles by spaces.
std::u32string without_articles(std::u32string_view text) {
  std::u32string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_in_word(text[end])) ++end;
    const std::u32string_view word = text.substr(i, end - i);
    if (word == U"a" || word == U"an" || word == U"the") {
      result += U' ';
    } else {
      result += word;
    }
    if (end < text.size()) result += text[end++];
    i = end;
  }
  return result;
}

// The words of an answer by SQuAD's normalization: lowercase, without punctuation and articles.
WordList normalized_words(std::string_view answer) {
  return split_words(without_articles(without(lowercase(code_points(answer)), kAsciiPunctuation)));
}

// The characters of an answer, each lowercase, without punctuation and white space.
WordList normalized_characters(std::string_view answer) {
  WordList characters;
  for (const char32_t c : code_points(answer)) {
    std::u32string character =
        without(without(lowercase(std::u32string(1, c)), kAsciiPunctuation), kChinesePunctuation);
    std::erase_if(character, is_space);
    if (!character.empty()) characters.push_back(std::move(character));
  }
  return characters;
}

double f1_of_words(const WordList& prediction, const WordList& answer) {
  std::map<std::u32string_view, int64_t> counts;
  for (const std::u32string& word : answer) ++counts[word];
  int64_t common = 0;
  for (const std::u32string& word : prediction) common += counts[word]-- > 0;
  if (common == 0) return 0;
  const double precision = double(common) / double(prediction.size()), recall = double(common) / double(answer.size());
  return 2 * precision * recall / (precision + recall);
}

// ---- ROUGE-L, of summaries of several sentences --------------------------------------------------------------------
// ROUGE-L of the package rouge (1.0.1): a sentence ends with every period, and all sequences become sets of words.

// The sentences as words. A blank sentence is one empty word, which counts like any other.
std::vector<WordList> sentences_of(std::u32string_view text) {
  std::vector<WordList> sentences;
  while (true) {
    const size_t end = std::min(text.find(U'.'), text.size());
    if (end > 0) {
      sentences.push_back(split_words(text.substr(0, end)));
      if (sentences.back().empty()) sentences.back().emplace_back();
    }
    if (end == text.size()) return sentences;
    text.remove_prefix(end + 1);
  }
}

using WordSet = std::set<std::u32string_view>;

// Adds the words of the longest common subsequence of two sentences; of several, the one that rouge finds.
void add_common_subsequence(const WordList& answer, const WordList& prediction, WordSet& words) {
  const size_t rows = answer.size(), columns = prediction.size();
  std::vector<uint32_t> lengths((rows + 1) * (columns + 1));  // [rows + 1, columns + 1], of the first words of both
  const auto length = [&](size_t i, size_t j) -> uint32_t& { return lengths[i * (columns + 1) + j]; };
  for (size_t i = 1; i <= rows; ++i) {
    for (size_t j = 1; j <= columns; ++j) {
      length(i, j) =
          answer[i - 1] == prediction[j - 1] ? length(i - 1, j - 1) + 1 : std::max(length(i - 1, j), length(i, j - 1));
    }
  }
  for (size_t i = rows, j = columns; i > 0 && j > 0;) {
    if (answer[i - 1] == prediction[j - 1]) {
      words.insert(answer[i - 1]);
      --i, --j;
    } else if (length(i - 1, j) > length(i, j - 1)) {
      --i;
    } else {
      --j;
    }
  }
}

size_t different_words(const std::vector<WordList>& sentences) {
  WordSet words;
  for (const WordList& sentence : sentences) words.insert(sentence.begin(), sentence.end());
  return words.size();
}

double rouge_l_of(std::u32string_view prediction, std::u32string_view answer) {
  const std::vector<WordList> predicted = sentences_of(prediction), expected = sentences_of(answer);
  if (predicted.empty() || expected.empty()) return 0;
  WordSet common;
  for (const WordList& sentence : expected)
    for (const WordList& other : predicted) add_common_subsequence(sentence, other, common);
  const double recall = double(common.size()) / double(different_words(expected));
  const double precision = double(common.size()) / double(different_words(predicted));
  return 2 * (precision * recall / (precision + recall + 1e-8));
}

// The characters with spaces between them.
std::u32string spaced_characters(std::string_view text) {
  std::u32string spaced;
  for (const char32_t c : code_points(text)) {
    if (!spaced.empty()) spaced += U' ';
    spaced += c;
  }
  return spaced;
}

// ---- Classes and numbers -------------------------------------------------------------------------------------------

// LongBench drops named classes that are a part of the answer while it goes through their list, so that it passes over
// the class behind a dropped one; the order of the classes therefore matters.
double classification_of(std::string_view prediction, std::string_view answer,
                         const std::vector<std::string>& classes) {
  std::vector<std::string_view> named;
  for (const std::string& name : classes)
    if (prediction.find(name) != std::string_view::npos) named.push_back(name);
  for (size_t i = 0; i < named.size(); ++i) {
    const std::string_view name = named[i];
    if (name != answer && answer.find(name) != std::string_view::npos) named.erase(std::ranges::find(named, name));
  }
  return std::ranges::find(named, answer) == named.end() ? 0 : 1 / double(named.size());
}

// The runs of decimal digits.
WordList numbers_of(std::u32string_view text) {
  WordList numbers;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_decimal(text[end])) ++end;
    if (end > i) numbers.emplace_back(text.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  return numbers;
}

double share_of_number(std::string_view prediction, std::u32string_view number) {
  const WordList numbers = numbers_of(code_points(prediction));
  return numbers.empty() ? 0 : double(std::ranges::count(numbers, number)) / double(numbers.size());
}

// The number that follows the first `word` with a number.
std::u32string numbered(std::string_view answer, std::u32string_view word) {
  const std::u32string text = code_points(answer);
  for (size_t at = text.find(word); at != std::u32string::npos; at = text.find(word, at + 1)) {
    const size_t begin = at + word.size();
    if (begin < text.size() && is_decimal(text[begin]))
      return numbers_of(std::u32string_view(text).substr(begin)).front();
  }
  throw Error("expected an answer such as \"", to_utf8(word), "3\", got \"", answer, "\"");
}

// ---- Similarity of code --------------------------------------------------------------------------------------------
// ratio() of fuzzywuzzy with Python's difflib, which LongBench's requirements install. With python-Levenshtein,
// fuzzywuzzy computes another number.

// Counts the characters of the blocks that difflib's SequenceMatcher(None, a, b) matches.
class MatchedBlocks {
 public:
  MatchedBlocks(std::u32string_view a, std::u32string_view b) : a_(a), b_(b) {
    for (size_t j = 0; j < b.size(); ++j) places_[b[j]].push_back(j);
    // difflib begins no block with a frequent character of a long text.
    constexpr size_t kLong = 200;
    if (b.size() >= kLong)
      std::erase_if(places_, [&](const auto& entry) { return entry.second.size() > b.size() / 100 + 1; });
  }

  size_t characters() const { return characters(0, a_.size(), 0, b_.size()); }

 private:
  struct Block {
    size_t a = 0, b = 0, size = 0;
  };

  // NOLINTNEXTLINE(misc-no-recursion): the texts are lines of code, and every call has a shorter one
  size_t characters(size_t a_begin, size_t a_end, size_t b_begin, size_t b_end) const {
    const Block block = longest(a_begin, a_end, b_begin, b_end);
    if (block.size == 0) return 0;
    return block.size + characters(a_begin, block.a, b_begin, block.b) +
           characters(block.a + block.size, a_end, block.b + block.size, b_end);
  }

  // The longest common block, of several the first one in a, then in b.
  Block longest(size_t a_begin, size_t a_end, size_t b_begin, size_t b_end) const {
    Block best{a_begin, b_begin, 0};
    std::map<size_t, size_t> lengths;  // of the blocks that end at a[i - 1], by their end in b
    for (size_t i = a_begin; i < a_end; ++i) {
      std::map<size_t, size_t> next;
      if (const auto places = places_.find(a_[i]); places != places_.end()) {
        for (const size_t j : places->second) {
          if (j < b_begin || j >= b_end) continue;
          const auto before = j == 0 ? lengths.end() : lengths.find(j - 1);
          const size_t size = next[j] = before == lengths.end() ? 1 : before->second + 1;
          if (size > best.size) best = {i + 1 - size, j + 1 - size, size};
        }
      }
      lengths = std::move(next);
    }
    while (best.a > a_begin && best.b > b_begin && a_[best.a - 1] == b_[best.b - 1]) --best.a, --best.b, ++best.size;
    while (best.a + best.size < a_end && best.b + best.size < b_end && a_[best.a + best.size] == b_[best.b + best.size])
      ++best.size;
    return best;
  }

  std::u32string_view a_, b_;
  std::unordered_map<char32_t, std::vector<size_t>> places_;  // of the characters of b that may begin a block
};

// The similarity in whole percent.
double fuzzy_ratio(std::u32string_view a, std::u32string_view b) {
  if (a == b) return 100;
  if (a.empty() || b.empty()) return 0;
  const double ratio = 2.0 * double(MatchedBlocks(a, b).characters()) / double(a.size() + b.size());
  return std::nearbyint(100 * ratio);  // Python's round() also rounds halves to even
}

// The first line that has no sign of a comment or of Markdown; empty if there is none.
std::string_view first_code_line(std::string_view prediction) {
  prediction.remove_prefix(std::min(prediction.find_first_not_of('\n'), prediction.size()));
  while (true) {
    const size_t end = std::min(prediction.find('\n'), prediction.size());
    const std::string_view line = prediction.substr(0, end);
    if (line.find_first_of("`#") == std::string_view::npos && line.find("//") == std::string_view::npos) return line;
    if (end == prediction.size()) return {};
    prediction.remove_prefix(end + 1);
  }
}

}  // namespace

double answer_score(AnswerMetric metric, std::string_view prediction, std::string_view answer,
                    const std::vector<std::string>& classes) {
  switch (metric) {
    case AnswerMetric::exact_match:
      return normalized_words(prediction) == normalized_words(answer) ? 1 : 0;
    case AnswerMetric::f1:
      return f1_of_words(normalized_words(prediction), normalized_words(answer));
    case AnswerMetric::f1_characters:
      return f1_of_words(normalized_characters(prediction), normalized_characters(answer));
    case AnswerMetric::rouge_l:
      return rouge_l_of(code_points(prediction), code_points(answer));
    case AnswerMetric::rouge_l_characters:
      return rouge_l_of(spaced_characters(prediction), spaced_characters(answer));
    case AnswerMetric::classification:
      return classification_of(prediction, answer, classes);
    case AnswerMetric::retrieval:
      return share_of_number(prediction, numbered(answer, U"Paragraph "));
    case AnswerMetric::retrieval_zh:
      return share_of_number(prediction, numbered(answer, U"段落"));
    case AnswerMetric::count:
      return share_of_number(prediction, code_points(answer));
    case AnswerMetric::edit_similarity:
      return fuzzy_ratio(code_points(first_code_line(prediction)), code_points(answer)) / 100;
  }
  return 0;
}

}  // namespace gyre
