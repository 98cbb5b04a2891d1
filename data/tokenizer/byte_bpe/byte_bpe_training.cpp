#include "gyre/data/tokenizer/byte_bpe/byte_bpe_training.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/tokenizer/hugging_face/characters.h"
#include "gyre/data/tokenizer/hugging_face/tokenizer_json.h"
#include "gyre/data/tokenizer/merge_learner.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace gyre {

namespace {

std::vector<std::string> trained_special_tokens(const ByteBpeTraining& options) {
  if (options.pre_tokenizer == ByteBpeWords::gpt2) return {"<|endoftext|>"};
  return {"<|begin_of_text|>", "<|end_of_text|>"};
}

// A tokenizer of special tokens, symbols and bytes. Their ids are those that Hugging Face's trainer gives them.
TokenizerJsonText initial_tokenizer(const ByteBpeTraining& options) {
  TokenizerJsonText tokenizer;
  const bool is_gpt2 = options.pre_tokenizer == ByteBpeWords::gpt2;
  const auto add = [&](const std::string& content, bool special) {
    tokenizer.added.push_back({.content = content, .id = int32_t(tokenizer.pieces.size()), .special = special});
    tokenizer.pieces.push_back(content);
  };
  for (const std::string& content : trained_special_tokens(options)) add(content, true);
  for (const std::string& content : options.user_symbols) add(content, false);
  std::vector<std::string> bytes = byte_characters();
  std::sort(bytes.begin(), bytes.end());  // UTF-8 sorts in the order of code points
  tokenizer.pieces.insert(tokenizer.pieces.end(), bytes.begin(), bytes.end());
  tokenizer.pre_tokenizer = is_gpt2 ? byte_level(false, true) : byte_level_words(kLlama3Words);
  // Puts the token that begins a text before it, as gyre train and gyre generate do.
  const AddedToken& bos = tokenizer.added.front();
  tokenizer.post_processor = template_processing({{bos.content, bos.id}}, {});
  tokenizer.decoder = byte_level(false, true);
  tokenizer.model = {{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", nullptr},
                     {"continuing_subword_prefix", nullptr},
                     {"end_of_word_suffix", nullptr},
                     {"fuse_unk", false},
                     {"byte_fallback", false},
                     {"ignore_merges", !is_gpt2}};
  return tokenizer;
}

void check(const ByteBpeTraining& options) {
  const std::vector<std::string> specials = trained_special_tokens(options);
  const int least = kByteValues + int(specials.size() + options.user_symbols.size());
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

// Adds the merges, as pairs of pieces, and their pieces. Each merge takes the most frequent pair; the pair with the
// smaller ids wins a tie. Ends early if no pair is frequent enough.
void learn_byte_merges(const CountedWords& words, const ByteBpeTraining& options, TokenizerJsonText& tokenizer) {
  MergeLearner learner(MergeLearner::Tie::smallest_ids, MergeLearner::Repeats::several_merges);
  for (const std::string& piece : tokenizer.pieces) learner.id_of(piece);
  std::vector<int32_t> ids;
  for (const auto& [word, count] : words) {
    ids.clear();
    for (const char byte : word) ids.push_back(learner.id_of(byte_characters()[uint8_t(byte)]));
    learner.add_word(ids, count);
  }
  learner.queue_all_pairs();
  std::vector<std::string>& pieces = learner.symbols();
  const auto size = size_t(options.size), most = size - std::min(size, pieces.size());
  tokenizer.merges = Json::array();
  while (pieces.size() < size) {
    const MergeLearner::Candidate* const best = learner.most_frequent();
    if (best == nullptr || best->count < int64_t(std::max<uint64_t>(options.min_frequency, 1))) break;
    const std::string left = pieces[size_t(learner.pair_of(*best).left)],
                      right = pieces[size_t(learner.pair_of(*best).right)];
    tokenizer.merges.push_back(Json::array({left, right}));
    learner.merge(learner.id_of(left + right));
    if (options.text.on_merge) options.text.on_merge(tokenizer.merges.size(), most);
  }
  tokenizer.pieces = std::move(pieces);
}

}  // namespace

std::vector<LineReport> train_byte_bpe(TextInputs files, const ByteBpeTraining& options, const Path& output) {
  check(options);
  TokenizerJsonText tokenizer = initial_tokenizer(options);
  const AddedTokens added(tokenizer.added);
  const PreTokenizer pre_tokenizer(IndexedJson(tokenizer.pre_tokenizer), "[vocabulary] ");
  const std::string names = files.describe();
  std::vector<LineReport> reports;
  const auto split = [&](std::string_view line, WordCounts& counts) {
    added.split(
        line,
        [&](std::string_view text, bool begins) {
          pre_tokenizer.split(text, begins, [&](std::string_view word, bool) { counts.add(word); });
        },
        [](int32_t) {});
  };
  const CountedWords words = count_words(std::move(files), options.text, split, reports);
  require(!words.empty(), "[vocabulary] ", names, ": no usable word to train on");
  learn_byte_merges(words, options, tokenizer);
  write_file(output, tokenizer.write());
  return reports;
}

}  // namespace gyre
