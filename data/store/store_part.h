// Splits a token store of documents into a training part and a held-out validation part.
#pragma once

#include <cstdint>

#include "gyre/data/store/token_store.h"

namespace gyre {

enum class Part : uint8_t { training, validation };

// Returns the part that document `number` belongs to in a store of several documents.
Part part_of_document(uint64_t number, double validation_share);

struct TokenRange {
  uint64_t begin, end;
  bool empty() const { return begin >= end; }
};

class StorePart {
 public:
  // A validation share of 0 leaves everything to training. Throws unless the share is in [0, 1).
  StorePart(const TokenStore& store, double validation_share, Part part);

  bool has(uint64_t document) const;
  // Clips a document's token range to the part. All of it remains, unless the store is a single document that is split.
  TokenRange clip(TokenRange tokens) const;

  // Calls f(tokens, ends) for each document of the part, with its tokens in the part and whether its end is among them.
  // Returns the number of documents of both parts.
  template <class F>
  uint64_t for_each_document(const F& f) const {
    uint64_t begin = 0, number = 0;
    for (size_t i = 0; i <= store_->size(); ++i) {
      if (i < store_->size() && store_->length(i, 0) > 0) continue;
      const uint64_t end = store_->first_token(i);
      if (end == begin) continue;
      const TokenRange own = clip({begin, end});
      if (has(number++) && !own.empty()) f(own, own.end == end);
      begin = end;
    }
    return number;
  }

  const TokenStore& store() const { return *store_; }
  double validation_share() const { return validation_share_; }

 private:
  const TokenStore* store_;
  double validation_share_;
  Part part_;
  bool is_divided_;   // whether the store is a single document that is split between the parts
  TokenRange range_;  // range of the store's tokens that contains the part
};

}  // namespace gyre
