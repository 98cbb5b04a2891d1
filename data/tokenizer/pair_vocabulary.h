// Two vocabularies of a translation model, one for the sources and one for the targets.
#pragma once

#include <memory>
#include <string>

#include "gyre/data/tokenizer/vocabulary.h"

namespace gyre {

class PairVocabulary final : public Vocabulary {
 public:
  // Throws an Error unless <s> and </s> have the same ids on both sides.
  PairVocabulary(const std::string& name, std::shared_ptr<const Vocabulary> source,
                 std::shared_ptr<const Vocabulary> target);

  std::string_view kind() const override { return "pair"; }
  const Vocabulary& side(int side) const override { return side == 0 ? *source_ : *target_; }
  bool shares_ids() const override;
  int size() const override;  // size of the larger vocabulary
  // These functions throw an Error: a text has no side.
  std::vector<int32_t> encode(std::string_view line) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  std::string piece(int id) const override;

 private:
  std::shared_ptr<const Vocabulary> source_, target_;
};

}  // namespace gyre
