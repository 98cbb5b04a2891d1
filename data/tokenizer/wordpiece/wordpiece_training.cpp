#include "gyre/data/tokenizer/wordpiece/wordpiece_training.h"

#include "gyre/core/error.h"
#include "gyre/core/io/output_target.h"
#include "gyre/core/sizes.h"
#include "gyre/data/text/utf8.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/data/tokenizer/word_counts.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"

namespace gyre {

std::vector<LineReport> train_wordpiece(TextInputs files, const WordPieceTraining& options, const Path& output) {
  const std::optional<bool> setting = find_lower_case_setting(output.parent_path());
  require(setting.value_or(options.lower_case) == options.lower_case, "[vocabulary] ", output.string(),
          ": tokenizer_config.json in its folder says ",
          options.lower_case ? "cased, got --lower-case" : "lower case, got --cased");
  if (options.merges.size < 1 || options.merges.size > kMaxDimension)
    throw UsageError("[vocabulary] --size: expected 1 to ", kMaxDimension, " pieces, got ", options.merges.size);
  require_file_output(output, "vocabulary");  // not a pipe: tokenizer_config.json goes into the same folder
  const std::string names = files.describe();
  std::vector<LineReport> reports;
  const auto split = [&](std::string_view line, WordCounts& counts) {
    for (const std::string& word : bert_words(line, options.lower_case)) counts.add(word);
  };
  CountedWords words = count_words(std::move(files), options.text, split, reports);
  std::erase_if(words, [](const auto& word) { return split_characters(word.first).size() > kLongestBertWord; });
  require(!words.empty(), "[vocabulary] ", names, ": no usable word to train on");
  std::string content;
  for (const std::string& piece : wordpiece_pieces(words, options.merges, {}, options.text.on_merge))
    content += piece + "\n";
  if (!setting) write_tokenizer_config(output.parent_path(), "BertTokenizer", options.lower_case);
  write_file(output, content);
  return reports;
}

}  // namespace gyre
