// Masking for masked language models (Devlin et al. 2019, section 3.1; create_pretraining_data.py of
// google-research/bert). Selects a share of the tokens of a sequence for prediction. Replaces each of them with the
// mask (80 %) or a random id of the whole vocabulary (10 %), or keeps it (10 %).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/random.h"
#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

struct MaskingOptions {
  enum class Draw : uint8_t {
    exact,       // max(1, round(share * length)) tokens of a sequence; length includes [CLS] and [SEP]
    independent  // masks each token independently with probability `share`
  };
  double share = 0.15;  // share of the tokens, in (0, 1]
  Draw draw = Draw::exact;
  // Selects all pieces of a word or none. An exact draw skips words with more pieces than remain to be selected.
  bool whole_words = false;
};

template <>
inline constexpr std::pair<MaskingOptions::Draw, std::string_view> kEnumNames<MaskingOptions::Draw>[] = {
    {MaskingOptions::Draw::exact, "exact"}, {MaskingOptions::Draw::independent, "independent"}};

// The properties of a vocabulary that masking uses.
struct MaskingVocabulary {
  int32_t size = 0;              // number of ids; random ids are below it
  int32_t mask = 0;              // id of the mask; may equal `size`, an embedding row that never occurs in text
  std::vector<int32_t> special;  // ids that are never selected
  // True if the piece continues the word of the preceding piece. Called once for each id.
  std::function<bool(int32_t id)> continues_word;

  // The mask is the piece [MASK] or <mask>; throws an Error if the vocabulary has neither. <s>, </s>, padding and the
  // mask are special; as in BERT, the unknown piece is not. "##" continues a word in WordPiece, and a piece without "▁"
  // continues one in SentencePiece; continues_word is empty for other kinds. Refers to the vocabulary.
  static MaskingVocabulary of(const Vocabulary& vocabulary);
};

// A token to predict: its row in the sequence and its original id.
struct MaskedRow {
  int32_t row, id;
  bool operator==(const MaskedRow&) const = default;
};

class Masking {
 public:
  // Throws an Error for a share outside (0, 1], ids outside the vocabulary, and whole_words without continues_word.
  Masking(const MaskingVocabulary& ids, const MaskingOptions& options, uint64_t seed);

  // Masks a sequence in place and returns the selected rows in ascending order. A pure function of the sequence and
  // (seed, epoch, sample). Returns no rows if no token may be selected or no word fits. Thread-safe.
  std::vector<MaskedRow> mask(std::span<int32_t> sequence, uint64_t epoch, uint64_t sample) const;

 private:
  // Rows [begin, end) that are selected together: a word or a single piece.
  struct Group {
    int32_t begin, end;
  };
  std::vector<Group> groups_of(std::span<const int32_t> sequence) const;
  std::vector<MaskedRow> choose(std::span<const int32_t> sequence, RandomStream& random) const;

  MaskingOptions options_;
  uint64_t seed_;
  int32_t size_, mask_;
  std::vector<uint8_t> is_special_, continues_word_;  // indexed by id
};

}  // namespace gyre
