#include "gyre/data/batch/masking.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/error.h"
#include "gyre/data/tokenizer/hugging_face/json_vocabulary.h"

namespace gyre {

namespace {

using Draw = MaskingOptions::Draw;

constexpr uint64_t kMaskedTenths = 8, kKeptTenths = 1;  // the rest is replaced

bool is_sentencepiece(std::string_view kind) {
  return kind == "unigram" || kind == "bpe" || kind == "char" || kind == "word";
}

}  // namespace

MaskingVocabulary MaskingVocabulary::of(const Vocabulary& vocabulary) {
  MaskingVocabulary ids;
  ids.size = vocabulary.size();
  ids.mask = -1;
  for (int id = 0; id < ids.size && ids.mask < 0; ++id) {
    const std::string piece = vocabulary.piece(id);
    if (piece == "[MASK]" || piece == "<mask>") ids.mask = id;
  }
  require(ids.mask >= 0, "[masking] expected a vocabulary with a piece [MASK] or <mask>, got one of kind ",
          vocabulary.kind(), " without it");
  ids.special = {vocabulary.bos(), vocabulary.eos(), ids.mask};
  if (vocabulary.pad() >= 0) ids.special.push_back(vocabulary.pad());
  if (const auto* json = dynamic_cast<const JsonVocabulary*>(&vocabulary); json != nullptr) {
    const std::string prefix(json->continuing_prefix());
    if (!prefix.empty())
      ids.continues_word = [json, prefix](int32_t id) { return json->piece(id).starts_with(prefix); };
  } else if (vocabulary.kind() == "wordpiece" || vocabulary.kind() == "wobert") {
    ids.continues_word = [&vocabulary](int32_t id) { return vocabulary.piece(id).starts_with("##"); };
  } else if (is_sentencepiece(vocabulary.kind())) {
    ids.continues_word = [&vocabulary](int32_t id) { return !vocabulary.piece(id).starts_with("▁"); };
  }
  return ids;
}

Masking::Masking(const MaskingVocabulary& ids, const MaskingOptions& options, uint64_t seed)
    : options_(options), seed_(mix(seed, hash_name("masking"))), size_(ids.size), mask_(ids.mask) {
  require(options.share > 0 && options.share <= 1, "[masking] expected a share above 0 and up to 1, got ",
          options.share);
  require(ids.size > 0 && ids.mask >= 0 && ids.mask <= ids.size, "[masking] expected a mask id in [0, ", ids.size,
          "], got ", ids.mask);
  require(!options.whole_words || ids.continues_word, "[masking] whole words: the vocabulary has no rule for words");
  is_special_.assign(size_t(size_) + 1, 0);
  for (const int32_t id : ids.special) {
    require(id >= 0 && id <= size_, "[masking] expected special ids in [0, ", size_, "], got ", id);
    is_special_[size_t(id)] = 1;
  }
  if (!options.whole_words) return;
  for (int32_t id = 0; id < size_; ++id) continues_word_.push_back(ids.continues_word(id));
  continues_word_.push_back(0);  // entry for a mask id that equals the vocabulary's size
}

std::vector<Masking::Group> Masking::groups_of(std::span<const int32_t> sequence) const {
  std::vector<Group> groups;
  bool in_word = false;
  for (int32_t row = 0; row < int32_t(sequence.size()); ++row) {
    const int32_t id = sequence[size_t(row)];
    require(id >= 0 && id <= size_, "[masking] expected ids up to ", size_, ", got ", id, " at row ", row);
    if (is_special_[size_t(id)]) {
      in_word = false;
    } else if (in_word && options_.whole_words && continues_word_[size_t(id)]) {
      groups.back().end = row + 1;
    } else {
      groups.push_back({row, row + 1});
      in_word = true;
    }
  }
  return groups;
}

std::vector<MaskedRow> Masking::choose(std::span<const int32_t> sequence, RandomStream& random) const {
  std::vector<Group> groups = groups_of(sequence);
  std::vector<MaskedRow> chosen;
  const auto take = [&](const Group& group) {
    for (int32_t row = group.begin; row < group.end; ++row) chosen.push_back({row, sequence[size_t(row)]});
  };
  if (options_.draw == Draw::independent) {
    for (const Group& group : groups) {
      if (random.uniform() < options_.share) take(group);
    }
    return chosen;
  }
  random.shuffle(groups);
  int64_t left = std::max(1L, std::lrint(double(sequence.size()) * options_.share));  // rounds half to even
  for (const Group& group : groups) {
    const int64_t rows = group.end - group.begin;
    if (rows > left) continue;
    take(group);
    left -= rows;
  }
  std::sort(chosen.begin(), chosen.end(), [](const MaskedRow& a, const MaskedRow& b) { return a.row < b.row; });
  return chosen;
}

std::vector<MaskedRow> Masking::mask(std::span<int32_t> sequence, uint64_t epoch, uint64_t sample) const {
  RandomStream random(seed_, mix(epoch, sample));
  std::vector<MaskedRow> chosen = choose(sequence, random);
  for (const MaskedRow& masked : chosen) {
    const uint64_t tenth = random.below(10);
    if (tenth < kMaskedTenths) {
      sequence[size_t(masked.row)] = mask_;
    } else if (tenth >= kMaskedTenths + kKeptTenths) {
      sequence[size_t(masked.row)] = int32_t(random.below(uint64_t(size_)));
    }
  }
  return chosen;
}

}  // namespace gyre
