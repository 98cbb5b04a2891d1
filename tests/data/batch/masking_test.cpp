#include "gyre/data/batch/masking.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "gyre/core/error.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/wordpiece/wordpiece_vocabulary.h"
#include "tests/data/text_files.h"

using namespace gyre;
using Ids = std::vector<int32_t>;
using MaskingDraw = MaskingOptions::Draw;

namespace {

constexpr int32_t kCls = 1, kSep = 2, kMask = 3, kFirstWord = 4, kSize = 1000;

// Ids from 500 continue a word.
MaskingVocabulary small_ids() {
  return {.size = kSize, .mask = kMask, .special = {kCls, kSep, kMask}, .continues_word = [](int32_t id) {
            return id >= 500;
          }};
}

// <s> x </s> with `length` ids in total.
Ids sequence_of(size_t length) {
  Ids ids(length, kCls);
  for (size_t i = 1; i + 1 < length; ++i) ids[i] = kFirstWord + int32_t(i * 7 % 400);
  ids.back() = kSep;
  return ids;
}

// Whether a count is within five standard deviations of its binomial expectation.
bool is_likely(double count, double draws, double p) {
  return std::abs(count - draws * p) < 5 * std::sqrt(draws * p * (1 - p)) + 1e-9;
}

// A vocabulary that has a SentencePiece kind.
class MarkedVocabulary final : public IdVocabulary {
 public:
  MarkedVocabulary() : IdVocabulary(6) {}
  std::string_view kind() const override { return "unigram"; }
  std::string piece(int id) const override {
    return std::vector<std::string>{"<unk>", "<s>", "</s>", "<mask>", "▁un", "able"}[size_t(id)];
  }
};

struct Result {
  Ids ids;
  std::vector<MaskedRow> rows;
  bool operator==(const Result&) const = default;
};

Result masked(const Masking& masking, Ids ids, uint64_t epoch, uint64_t sample) {
  auto rows = masking.mask(ids, epoch, sample);
  return {std::move(ids), std::move(rows)};
}

}  // namespace

TEST_CASE("masking: an exact draw rounds like create_pretraining_data.py and selects no special id") {
  const Masking masking(small_ids(), {}, 1);
  // Python's max(1, round(length * 0.15)), which rounds half to even.
  const std::map<size_t, size_t> expected{{3, 1},  {4, 1},  {9, 1},  {10, 2},   {16, 2},
                                          {17, 3}, {30, 4}, {50, 8}, {128, 19}, {512, 77}};
  for (const auto& [length, count] : expected) {
    CAPTURE(length);
    for (uint64_t sample = 0; sample < 50; ++sample) {
      const Ids before = sequence_of(length);
      const Result result = masked(masking, before, 0, sample);
      REQUIRE(result.rows.size() == std::min(count, length - 2));
      Ids restored = result.ids;
      for (size_t k = 0; k < result.rows.size(); ++k) {
        const auto [row, id] = result.rows[k];
        if (k > 0) CHECK(result.rows[k - 1].row < row);
        CHECK(before[size_t(row)] == id);
        CHECK(id >= kFirstWord);
        restored[size_t(row)] = id;
      }
      CHECK(restored == before);  // no other id has changed
    }
  }
  CHECK(masked(masking, {kCls, kSep}, 0, 0).rows.empty());
  CHECK(masked(masking, {}, 0, 0).rows.empty());
}

TEST_CASE("masking: 80 % masks, 10 % random ids, 10 % unchanged; rows and random ids are uniform") {
  for (const MaskingDraw draw : {MaskingDraw::exact, MaskingDraw::independent}) {
    const Masking masking(small_ids(), {.draw = draw}, 7);
    const Ids before = sequence_of(102);
    const double samples = 20000;
    double all = 0, masks = 0, kept = 0, low = 0, random = 0;
    std::vector<double> at(102, 0), replaced(kSize, 0);
    for (uint64_t sample = 0; sample < uint64_t(samples); ++sample) {
      const Result result = masked(masking, before, 3, sample);
      for (const auto [row, id] : result.rows) {
        const int32_t now = result.ids[size_t(row)];
        ++all, ++at[size_t(row)];
        if (now == kMask) {
          ++masks;
        } else if (now == id) {
          ++kept;
        } else {
          ++random, ++replaced[size_t(now)];
          low += now < kSize / 2;
        }
      }
    }
    const double share = draw == MaskingDraw::exact ? 0.15 : all / samples / 100;  // 15 of 100 candidates
    if (draw == MaskingDraw::exact) CHECK(all == samples * 15);
    CHECK(is_likely(all, samples * 100, 0.15));
    // One random id in a thousand is the mask, and one is the original id.
    CHECK(is_likely(masks, all, 0.8 + 0.1 / kSize));
    CHECK(is_likely(kept, all, 0.1 + 0.1 / kSize));
    CHECK(is_likely(low, random, 0.5));
    for (size_t row = 1; row < 101; ++row) CHECK(is_likely(at[row], samples, share));
    CHECK(at[0] + at[101] == 0);
    double chi = 0;
    for (int32_t id = 0; id < kSize; ++id) {
      if (id == kMask) continue;
      chi += std::pow(replaced[size_t(id)] - random / kSize, 2) / (random / kSize);
    }
    CHECK(std::abs(chi - kSize) < 6 * std::sqrt(2.0 * kSize));
  }
}

TEST_CASE("masking: the number of independently selected tokens has a binomial distribution's variance") {
  const Masking masking(small_ids(), {.share = 0.3, .draw = MaskingDraw::independent}, 1);
  const Ids ids = sequence_of(102);
  double sum = 0, squares = 0;
  const double samples = 20000;
  for (uint64_t sample = 0; sample < uint64_t(samples); ++sample) {
    const auto count = double(masked(masking, ids, 0, sample).rows.size());
    sum += count, squares += count * count;
  }
  const double mean = sum / samples, variance = squares / samples - mean * mean;
  CHECK(mean == doctest::Approx(30).epsilon(0.01));
  CHECK(variance == doctest::Approx(21).epsilon(0.05));
}

TEST_CASE("masking: is a pure function of seed, epoch and sample") {
  const Ids ids = sequence_of(128);
  const Masking masking(small_ids(), {}, 1), same(small_ids(), {}, 1), other(small_ids(), {}, 2);
  const Result first = masked(masking, ids, 0, 5);
  CHECK(masked(masking, ids, 1, 5) != first);
  CHECK(masked(masking, ids, 0, 6) != first);
  CHECK(masked(other, ids, 0, 5) != first);
  CHECK(masked(same, ids, 0, 5) == first);
  std::vector<Result> results(200);
#pragma omp parallel for schedule(dynamic) num_threads(4)
  for (size_t i = 0; i < results.size(); ++i) results[i] = masked(masking, ids, 0, i);
  for (size_t i = results.size(); i-- > 0;) CHECK(results[i] == masked(same, ids, 0, i));
}

TEST_CASE("masking: selects whole words, and none with more pieces than remain to be selected") {
  // Words of 1, 2, 3 and 9 pieces. The piece after </s> begins a word, although its id is a continuation.
  const Ids ids{kCls, 10, 11, 501, 12, 502, 503, kSep, 504, 13, 601, 602, 603, 604, 605, 606, 607, 608, kSep, 14};
  const std::vector<std::pair<int, int>> words{{1, 2}, {2, 4}, {4, 7}, {8, 9}, {9, 18}, {19, 20}};
  for (const MaskingDraw draw : {MaskingDraw::exact, MaskingDraw::independent}) {
    const Masking masking(small_ids(), {.share = 0.2, .draw = draw, .whole_words = true}, 1);
    std::vector<int> chosen(words.size(), 0);
    for (uint64_t sample = 0; sample < 4000; ++sample) {
      const auto rows = masked(masking, ids, 0, sample).rows;
      size_t covered = 0;
      for (size_t w = 0; w < words.size(); ++w) {
        const auto [begin, end] = words[w];
        const auto count =
            std::count_if(rows.begin(), rows.end(), [&](const MaskedRow& m) { return m.row >= begin && m.row < end; });
        REQUIRE((count == 0 || count == end - begin));
        chosen[w] += count > 0;
        covered += size_t(count);
      }
      CHECK(covered == rows.size());
      if (draw == MaskingDraw::exact)
        CHECK((rows.size() == 4 || rows.size() == 3));  // round(20 * 0.2), or only the three single pieces
    }
    for (size_t w = 0; w < words.size(); ++w) {
      if (draw == MaskingDraw::independent) CHECK(is_likely(chosen[w], 4000, 0.2));
      if (draw == MaskingDraw::exact) CHECK((chosen[w] > 0) == (w != 4));
    }
  }
  const Masking masking(small_ids(), {.whole_words = true}, 1);
  CHECK(masked(masking, {kCls, 10, 501, 502, kSep}, 0, 0).rows.empty());  // one row to select, but no word that short
}

TEST_CASE("masking: the mask, special ids and word continuations of vocabularies") {
  const WordPieceVocabulary vocabulary("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\n");
  const MaskingVocabulary ids = MaskingVocabulary::of(vocabulary);
  CHECK(ids.size == 7);
  CHECK(ids.mask == 4);
  CHECK(ids.special == Ids{2, 3, 4, 0});
  CHECK(ids.continues_word(6));
  CHECK(!ids.continues_word(5));
  const MarkedVocabulary marked;
  const MaskingVocabulary sentencepiece = MaskingVocabulary::of(marked);
  CHECK(sentencepiece.mask == 3);
  CHECK(sentencepiece.special == Ids{1, 2, 3});
  CHECK(sentencepiece.continues_word(5));
  CHECK(!sentencepiece.continues_word(4));
  const std::string error = error_of([] { MaskingVocabulary::of(ByteVocabulary()); });
  CHECK(contains(error, "[MASK] or <mask>, got one of kind bytes"));
}

TEST_CASE("masking: invalid options and ids are rejected") {
  CHECK(contains(error_of([] { Masking(small_ids(), {.share = 0}, 1); }), "a share above 0 and up to 1, got 0"));
  MaskingVocabulary ids = small_ids();
  ids.continues_word = nullptr;
  CHECK(contains(error_of([&] { Masking(ids, {.whole_words = true}, 1); }), "no rule for words"));
  ids.mask = kSize + 1;
  CHECK(contains(error_of([&] { Masking(ids, {}, 1); }), "a mask id in [0, 1000], got 1001"));
  CHECK(contains(error_of([] { masked(Masking(small_ids(), {}, 1), {5, 1001}, 0, 0); }), "got 1001 at row 1"));
}
