#include "gyre/data/tokenizer/byte_bpe/byte_bpe_training.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/sizes.h"
#include "gyre/data/tokenizer/byte_bpe/byte_notation.h"
#include "gyre/data/tokenizer/byte_bpe/merge_learning.h"
#include "gyre/data/tokenizer/byte_bpe/tokenizer_json.h"

namespace gyre {

namespace {

constexpr int kBytes = 256;

std::vector<std::string> special_tokens(const ByteBpeTraining& options) {
  if (options.pre_tokenizer == "gpt2") return {"<|endoftext|>"};
  return {"<|begin_of_text|>", "<|end_of_text|>"};
}

// A model of special tokens, symbols and bytes. Their ids are those that Hugging Face's trainer gives them.
ByteBpeModel initial_model(const ByteBpeTraining& options) {
  ByteBpeModel model;
  const bool is_gpt2 = options.pre_tokenizer == "gpt2";
  model.pre_tokenizer.gpt2_words = is_gpt2;
  if (!is_gpt2) model.pre_tokenizer.patterns = {kLlama3Words};
  model.ignore_merges = !is_gpt2;
  const std::vector<std::string> specials = special_tokens(options);
  model.bos = specials.front();
  const auto add = [&](const std::string& content, bool special) {
    model.added.push_back({.content = content, .id = int32_t(model.pieces.size()), .special = special});
    model.pieces.push_back(content);
  };
  for (const std::string& content : specials) add(content, true);
  for (const std::string& content : options.user_symbols) add(content, false);
  std::vector<std::string> bytes = byte_characters();
  std::sort(bytes.begin(), bytes.end());  // UTF-8 sorts in the order of code points
  model.pieces.insert(model.pieces.end(), bytes.begin(), bytes.end());
  return model;
}

void check(const ByteBpeTraining& options) {
  if (options.pre_tokenizer != "gpt2" && options.pre_tokenizer != "llama3")
    throw UsageError("[vocabulary] --pre-tokenizer: expected gpt2 or llama3, got ", options.pre_tokenizer);
  const std::vector<std::string> specials = special_tokens(options);
  const int least = kBytes + int(specials.size() + options.user_symbols.size());
  if (options.size < least || options.size > kMaxDimension)
    throw UsageError("[vocabulary] --size: expected ", least, " to ", kMaxDimension,
                     " pieces, among them the 256 bytes, got ", options.size);
  std::set<std::string> symbols(specials.begin(), specials.end());
  for (const std::string& symbol : options.user_symbols) {
    if (symbol.empty() || notated_bytes(symbol).value_or("").size() == 1)
      throw UsageError("[vocabulary] --user-symbols: expected texts of several characters, got \"", symbol, "\"");
    if (notated_bytes(symbol).value_or(symbol) != symbol)
      throw UsageError("[vocabulary] --user-symbols: expected no text that tokenizer.json reads as other bytes, got \"",
                       symbol, "\"");
    if (!symbols.insert(symbol).second)
      throw UsageError("[vocabulary] --user-symbols: expected different texts, none of them a special token, got \"",
                       symbol, "\" again");
  }
}

}  // namespace

std::vector<LineReport> train_byte_bpe(TextInputs files, const ByteBpeTraining& options, const Path& output) {
  check(options);
  ByteBpeModel model = initial_model(options);
  const AddedTokens added(model.added);
  const PreTokenizer pre_tokenizer("[vocabulary] ", model.pre_tokenizer);
  const std::string names = files.describe();
  std::vector<LineReport> reports;
  const auto split = [&](std::string_view line, WordCounts& counts) {
    added.split(
        line,
        [&](std::string_view text) { pre_tokenizer.split(text, [&](std::string_view word) { counts.add(word); }); },
        [](int32_t) {});
  };
  const CountedWords words = count_words(std::move(files), options.text, split, reports);
  require(!words.empty(), "[vocabulary] ", names, ": no usable word to train on");
  model.merges = learn_byte_merges(words, size_t(options.size), options.min_frequency, model.pieces);
  write_file(output, tokenizer_json(model));
  return reports;
}

}  // namespace gyre
