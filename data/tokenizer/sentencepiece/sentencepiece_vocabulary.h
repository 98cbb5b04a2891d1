// Loads and trains SentencePiece models (Kudo & Richardson 2018) with libsentencepiece.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "gyre/data/text/line_report.h"
#include "gyre/data/tokenizer/bpe_dropout.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/data/tokenizer/vocabulary_bundle.h"
#include "gyre/data/tokenizer/word_counts.h"

namespace sentencepiece {
class SentencePieceProcessor;
}
namespace gyre {

inline constexpr std::string_view kMarkedSpace = "\xE2\x96\x81";  // U+2581, which stands for a space in pieces
std::string with_spaces(std::string text);                        // the text with a space for each U+2581

// Types of pieces, with their numbers in sentencepiece_model.proto.
enum class PieceType : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// How a model changes a text before it divides it into pieces.
struct SentencePieceRules {
  std::string character_map{};  // precompiled_charsmap; empty: characters stay as they are
  bool adds_space = true;       // a space before a text
  bool merges_spaces = true;    // one space for several, and none at the ends of a text
  bool escapes_spaces = true;   // spaces are written as U+2581
  bool space_is_suffix = false;
};

class SentencePieceVocabulary final : public Vocabulary {
 public:
  // content: a serialized model. `name` is the name of the file for messages. Throws an Error for an invalid model.
  SentencePieceVocabulary(const std::string& name, std::string content);
  // bundle: a model with the settings of a tokenizer_config.json and the number of ids of a model that uses it.
  SentencePieceVocabulary(const std::string& name, const VocabularyBundle& bundle);
  // A tokenizer.model with the settings beside it: bos_token, eos_token, pad_token, add_bos_token, add_eos_token. size:
  // the number of ids of a model, which may have more than there are pieces.
  static std::shared_ptr<const SentencePieceVocabulary> with_settings(const std::string& name, std::string model,
                                                                      const Json& config, int size);
  ~SentencePieceVocabulary() override;

  std::string_view kind() const override { return kind_; }
  std::vector<int32_t> encode(std::string_view line) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;
  int size() const override { return size_; }
  std::string note() const override { return note_; }
  std::unique_ptr<BpeDropout> bpe_dropout() const override;  // null unless the kind is "bpe"

  // Makes note() say if the settings beside a tokenizer.model have added tokens, which SentencePiece does not read.
  void look_for_added_tokens(const Json& config);

  // Whether the id belongs to a piece that is neither special, a byte, a user symbol nor unused.
  bool is_normal(int id) const { return type(id) == PieceType::normal; }
  PieceType type(int id) const { return types_[size_t(id)]; }  // unused for an id without a piece
  float score(int id) const;

  bool names_bos() const { return special_.bos != special_.eos; }  // not </s> for want of <s>
  const std::string& model() const { return model_; }              // the serialized model
  const SentencePieceRules& rules() const { return rules_; }
  // The content of a tokenizer_config.json beside it: that of the settings, or one with which transformers reads it.
  Json tokenizer_config() const;

  static bool recognizes(std::string_view content);

 private:
  SentencePieceVocabulary(const std::string& name, std::string content, std::string model);
  void apply(const std::string& name, const Json& config, int size);

  std::string model_, note_;
  Json config_;
  int size_ = 0;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  std::string kind_;
  std::vector<PieceType> types_;  // types by id
  SentencePieceRules rules_;
};

struct SentencePieceOptions {
  std::string type = "unigram";        // unigram, bpe, char, word
  int size = 8000;                     // number of pieces, including the three special ones; maximum for char and word
  double character_coverage = 0.9995;  // share of the characters of the text that get a piece; the others become <unk>
  std::string normalization = "nmt_nfkc";   // SentencePiece's rules: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf, identity
  bool byte_fallback = false;               // encode unknown characters as bytes; needs 256 pieces
  bool keep_whitespace = false;             // add no space at the start of a text, and remove none
  std::vector<std::string> user_symbols{};  // pieces that are never split
  uint64_t sample_lines = 0;                // train on a random sample of this many lines; 0: on all lines
  uint64_t seed = 1;                        // seed of the sample
  int max_sentence_bytes = 4192;            // longer lines count as over-long
  TrainingText text{};
};

// Trains one vocabulary on all files and writes it to `output` atomically. Returns one report per file. Uses threads()
// cores; the model does not depend on their number. Throws a UsageError for options out of range, and an Error for bad
// lines that the policy does not skip and if SentencePiece cannot train the model.
std::vector<LineReport> train_sentencepiece(TextInputs files, const SentencePieceOptions& options, const Path& output);

}  // namespace gyre
