// SentencePiece models (Kudo & Richardson 2018), through libsentencepiece.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/file.h"
#include "data/line_report.h"
#include "data/vocabulary.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace gyre {

class SentencePieceVocabulary final : public Vocabulary {
 public:
  // content: a serialised model. `name` is the file's, for messages.
  SentencePieceVocabulary(const std::string& name, std::string content);
  ~SentencePieceVocabulary() override;

  std::string_view kind() const override { return kind_; }
  std::vector<int32_t> encode(std::string_view line) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;
  int size() const override;

  static bool recognises(std::string_view content);

 private:
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  std::string kind_;
};

struct SentencePieceOptions {
  std::string type = "unigram";        // unigram, bpe, char, word
  int size = 8000;                     // pieces, with the three special ones; for char and word the most there may be
  double character_coverage = 0.9995;  // share of the characters of the text that get a piece; the rest is <unk>
  std::string normalization = "nmt_nfkc";   // SentencePiece's rules: nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf, identity
  bool byte_fallback = false;               // unknown characters become bytes; costs 256 pieces
  bool keep_whitespace = false;             // no space is added at the start of a text, and none taken away
  std::vector<std::string> user_symbols{};  // pieces that are never split
  uint64_t sample_lines = 0;                // train on that many lines, drawn with the seed; 0: on all
  uint64_t seed = 1;
  int max_sentence_bytes = 4192;  // longer lines count as over-long
  OnBadLine on_bad_line = OnBadLine::by_kind;
};

// Trains one vocabulary on all the files and writes it to `output`, whole or not at all. A report per file. Runs on as
// many cores as there are threads(); the model does not hang on their number.
std::vector<LineReport> train_sentencepiece(const std::vector<Path>& files, const SentencePieceOptions& options,
                                            const Path& output);

}  // namespace gyre
