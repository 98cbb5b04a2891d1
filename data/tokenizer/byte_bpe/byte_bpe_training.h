// Trains byte-level BPE: counts the words of the text on all threads, then computes the merges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

// The regular expression that splits text into words, and the special tokens.
enum class ByteBpeWords : uint8_t { gpt2, llama3 };

template <>
inline constexpr std::pair<ByteBpeWords, std::string_view> kEnumNames<ByteBpeWords>[] = {
    {ByteBpeWords::gpt2, "gpt2"}, {ByteBpeWords::llama3, "llama3"}};

struct ByteBpeTraining {
  int size = 8000;             // maximum pieces, including special tokens, symbols and the 256 bytes
  uint64_t min_frequency = 2;  // rarer pairs are not merged
  ByteBpeWords pre_tokenizer = ByteBpeWords::gpt2;
  std::vector<std::string> user_symbols{};  // tokens that are never split
  TrainingText text{};
};

// Writes a tokenizer.json with the merges that BpeTrainer of Hugging Face's package tokenizers computes on the same
// lines: the special tokens (<|endoftext|>, or <|begin_of_text|> and <|end_of_text|>) and symbols, the bytes, then a
// piece per merge. Returns one report per file. The result does not depend on the number of threads. Throws a
// UsageError for options out of range.
std::vector<LineReport> train_byte_bpe(TextInputs files, const ByteBpeTraining& options, const Path& output);

}  // namespace gyre
