// The masking of masked language models (Devlin et al. 2019, section 3.1; create_pretraining_data.py of
// google-research/bert): of a sequence a share of the tokens is to be predicted; each of these becomes the mask (80 %),
// a random id of the whole vocabulary (10 %), or stays as it is (10 %).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "data/vocabulary.h"

namespace gyre {

struct MaskingOptions {
  enum class Draw : uint8_t {
    exact,       // max(1, round(share * length)) tokens of a sequence, [CLS] and [SEP] counted in its length
    independent  // every token for itself with the probability `share`
  };
  double share = 0.15;  // in (0, 1]
  Draw draw = Draw::exact;
  // All pieces of a word or none. An exact draw passes over words with more pieces than are left to choose.
  bool whole_words = false;

  static Draw parse_draw(std::string_view text);  // "exact" or "independent"; else UsageError
};

// What masking needs to know of a vocabulary.
struct MaskedIds {
  int32_t size = 0;              // random ids are below it
  int32_t mask = 0;              // may be `size`: a row of the embedding that text never shows
  std::vector<int32_t> special;  // never chosen
  // Whether the piece belongs to the word of the one before it; asked once for every id.
  std::function<bool(int32_t id)> continues_word;

  // [MASK] or <mask>; <s>, </s>, padding and the mask are special, as in BERT an unknown piece is not. Words go by the
  // kind: "##" continues one in WordPiece, a piece without "▁" in SentencePiece; other kinds have no rule.
  static MaskedIds of(const Vocabulary& vocabulary);
};

// A token to predict: its row in the sequence, and the id that stood there.
struct MaskedRow {
  int32_t row, id;
  bool operator==(const MaskedRow&) const = default;
};

class Masking {
 public:
  Masking(const MaskedIds& ids, const MaskingOptions& options, uint64_t seed);

  // Masks a sequence in place and returns the chosen rows in rising order. A pure function of the sequence and (seed,
  // epoch, sample). Empty where no token may be chosen, or no word fits. Safe to call from several threads.
  std::vector<MaskedRow> mask(std::span<int32_t> sequence, uint64_t epoch, uint64_t sample) const;

 private:
  // Rows [begin, end) that are chosen together: a word, or a single piece.
  struct Group {
    int32_t begin, end;
  };
  std::vector<Group> groups_of(std::span<const int32_t> sequence) const;
  std::vector<MaskedRow> choose(std::span<const int32_t> sequence, RandomStream& random) const;

  MaskingOptions options_;
  uint64_t seed_;
  int32_t size_, mask_;
  std::vector<uint8_t> is_special_, continues_word_;  // of each id
};

}  // namespace gyre
