#include "gyre/data/store/store_part.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/error.h"
#include "gyre/core/random.h"

namespace gyre {

namespace {

bool has_one_document(const TokenStore& store) {
  uint64_t documents = 0;
  bool is_inside = false;
  for (size_t i = 0; i < store.size() && documents < 2; ++i) {
    const bool is_sentence = store.length(i, 0) > 0;
    documents += is_sentence && !is_inside;
    is_inside = is_sentence;
  }
  return documents == 1;
}

}  // namespace

Part part_of_document(uint64_t number, double validation_share) {
  return random_uniform(0, hash_name("validation documents"), number) < validation_share ? Part::validation
                                                                                         : Part::training;
}

StorePart::StorePart(const TokenStore& store, double validation_share, Part part)
    : store_(&store), validation_share_(validation_share), part_(part), range_{0, store.total_tokens(0)} {
  require(store.sides() == 1, "[documents] ", store.name(), ": expected a store of one side, got one of pairs");
  require(validation_share >= 0 && validation_share < 1, "[documents] expected a validation share in [0, 1), got ",
          validation_share);
  is_divided_ = validation_share > 0 && has_one_document(store);
  if (!is_divided_) return;
  const uint64_t boundary = range_.end - uint64_t(std::llround(validation_share * double(range_.end)));
  range_ = part == Part::training ? TokenRange{0, boundary} : TokenRange{boundary, range_.end};
}

bool StorePart::has(uint64_t document) const {
  return is_divided_ || part_of_document(document, validation_share_) == part_;
}

TokenRange StorePart::clip(TokenRange tokens) const {
  return {std::max(tokens.begin, range_.begin), std::min(tokens.end, range_.end)};
}

}  // namespace gyre
