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
