#include "gyre/data/tokenizer/wordpiece/wordpiece_training.h"

#include <algorithm>
#include <unordered_map>

#include "gyre/core/error.h"
#include "gyre/core/io/output_target.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/sizes.h"
#include "gyre/core/thread_failure.h"
#include "gyre/data/text/parallel_text.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/wordpiece/tokenizer_config.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {

namespace {

constexpr size_t kLinesPerThread = 2048;  // lines per thread in a chunk

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

  // Returns the words sorted, so that their order does not depend on the threads.
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
  std::vector<Counts> counts_;  // one per thread
};

}  // namespace

std::vector<LineReport> train_wordpiece(const std::vector<Path>& files, const WordPieceTraining& options,
                                        const Path& output) {
  const std::optional<bool> setting = find_lower_case_setting(output.parent_path());
  require(setting.value_or(options.lower_case) == options.lower_case, "[vocabulary] ", output.string(),
          ": tokenizer_config.json in its folder says ",
          options.lower_case ? "cased, got --lower-case" : "lower case, got --cased");
  if (options.merges.size < 1 || options.merges.size > kMaxDimension)
    throw UsageError("[vocabulary] --size: expected 1 to ", kMaxDimension, " pieces, got ", options.merges.size);
  require_file_output(output, "vocabulary");  // not a pipe: tokenizer_config.json goes into the same folder
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
  if (!setting) write_tokenizer_config(output.parent_path(), options.lower_case);
  write_file(output, content);
  return reports;
}

}  // namespace gyre
