#include "gyre/data/tokenizer/pair_vocabulary.h"

#include <algorithm>

#include "gyre/core/error.h"
#include "gyre/data/tokenizer/marian_vocabulary.h"
#include "gyre/data/tokenizer/vocabulary_bundle.h"

namespace gyre {
namespace {

std::string pair_content(const Vocabulary& source, const Vocabulary& target) {
  VocabularyBundle bundle{.kind = "pair"};
  bundle.parts = {{"source", source.content()}, {"target", target.content()}};
  return bundle.serialize();
}

[[noreturn]] void refuse_text() {
  throw Error("[vocabulary] expected one vocabulary, got a pair for sources and targets, which only translation reads");
}

}  // namespace

PairVocabulary::PairVocabulary(const std::string& name, std::shared_ptr<const Vocabulary> source,
                               std::shared_ptr<const Vocabulary> target)
    : Vocabulary(pair_content(*source, *target)), source_(std::move(source)), target_(std::move(target)) {
  for (const auto& side : {source_, target_})
    require(side->kind() != kind(), "[vocabulary] ", name, ": expected two vocabularies of one language, got a pair");
  require(source_->bos() == target_->bos() && source_->eos() == target_->eos(), "[vocabulary] ", name,
          ": expected the same ids of <s> and </s> on both sides, got ", source_->bos(), " and ", source_->eos(),
          " of sources, ", target_->bos(), " and ", target_->eos(), " of targets");
  special_ = {.unk = target_->unk(), .bos = target_->bos(), .eos = target_->eos(), .pad = target_->pad()};
}

bool PairVocabulary::shares_ids() const {
  const auto* source = dynamic_cast<const MarianVocabulary*>(source_.get());
  const auto* target = dynamic_cast<const MarianVocabulary*>(target_.get());
  return source != nullptr && target != nullptr && source->ids() == target->ids();
}

int PairVocabulary::size() const { return std::max(source_->size(), target_->size()); }

std::vector<int32_t> PairVocabulary::encode(std::string_view) const { refuse_text(); }
std::string PairVocabulary::decode(std::span<const int32_t>) const { refuse_text(); }
std::string PairVocabulary::piece(int) const { refuse_text(); }

}  // namespace gyre
