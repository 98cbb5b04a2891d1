#include "data/wordpiece_training.h"

#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "core/kernels.h"
#include "core/output_target.h"
#include "core/sizes.h"
#include "core/thread_failure.h"
#include "data/parallel_text.h"
#include "data/utf8.h"
#include "data/wordpiece_vocabulary.h"

namespace gyre {

namespace {

constexpr size_t kLinesPerThread = 2048;  // counted at a time

class WordCounter {
 public:
  explicit WordCounter(bool lower_case) : lower_case_(lower_case), counts_(size_t(threads())) {}

  void count(ParallelText& text) {
    const size_t most = kLinesPerThread * counts_.size();
    std::vector<std::string_view> lines;
    do {
      lines.clear();
      for (TextRow row; lines.size() < most && text.next(row);) lines.push_back(row.text[0]);
      count(lines);
      text.report().kept += lines.size();
    } while (!lines.empty());
  }

  // Sorted, so that the order does not tell which thread counted what.
  std::vector<std::pair<std::string, uint64_t>> take() {
    Counts& all = counts_.front();
    for (size_t i = 1; i < counts_.size(); ++i) {
      for (const auto& [word, count] : counts_[i]) all[word] += count;
    }
    std::vector<std::pair<std::string, uint64_t>> words(all.begin(), all.end());
    std::sort(words.begin(), words.end());
    return words;
  }

 private:
  using Counts = std::unordered_map<std::string, uint64_t>;

  void count(const std::vector<std::string_view>& lines) {
    ThreadFailure failure;
#pragma omp parallel for schedule(static, 1)
    for (size_t slot = 0; slot < counts_.size(); ++slot) {
      failure.guard([&] {
        for (size_t i = slot; i < lines.size(); i += counts_.size()) {
          for (std::string& word : bert_words(lines[i], lower_case_)) ++counts_[slot][std::move(word)];
        }
      });
    }
    failure.rethrow();
  }

  bool lower_case_;
  std::vector<Counts> counts_;  // by thread
};

void write_config_beside(const Path& vocabulary, bool lower_case) {
  if (lower_case_beside(vocabulary)) return;
  const nlohmann::ordered_json config{{"do_lower_case", lower_case}, {"tokenizer_class", "BertTokenizer"}};
  write_file(vocabulary.parent_path() / "tokenizer_config.json", config.dump(2) + "\n");
}

}  // namespace

std::vector<LineReport> train_wordpiece(const std::vector<Path>& files, const WordPieceTraining& options,
                                        const Path& output) {
  require(lower_case_beside(output).value_or(options.lower_case) == options.lower_case, "[vocabulary] ",
          output.string(), ": tokenizer_config.json beside it says ",
          options.lower_case ? "cased, got --lower-case" : "lower case, got --cased");
  if (options.merges.size < 1 || options.merges.size > kLargestSize)
    throw UsageError("[vocabulary] --size: expected 1 to ", kLargestSize, " pieces, got ", options.merges.size);
  require_file_output(output, "vocabulary");  // tokenizer_config.json stands beside it
  WordCounter counter(options.lower_case);
  std::vector<LineReport> reports;
  for (const Path& file : files) {
    ParallelText text({file}, options.on_bad_line);
    counter.count(text);
    reports.push_back(text.report());
  }
  auto words = counter.take();
  std::erase_if(words, [](const auto& word) { return split_characters(word.first).size() > kLongestBertWord; });
  require(!words.empty(), "[vocabulary] ", files.front().string(), files.size() > 1 ? " and the other files" : "",
          ": no usable word to train on");
  std::string content;
  for (const std::string& piece : wordpiece_pieces(words, options.merges)) content += piece + "\n";
  write_config_beside(output, options.lower_case);
  write_file(output, content);
  return reports;
}

}  // namespace gyre
