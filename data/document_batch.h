// Packed batches of samples, as encoders and decoders alone take them: no padding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/segments.h"
#include "data/document_plan.h"
#include "data/masking.h"

namespace gyre {

struct MaskedBatch {
  std::vector<int32_t> ids;      // <s> x </s> with masks, one sample after another
  Segments segments;             // where each lies
  std::vector<int32_t> rows;     // of ids, to be predicted, in rising order
  std::vector<int32_t> targets;  // what stood there
};

// A sample is masked by its number: the same whatever batch or shard it is in. Samples of Task::masked.
MaskedBatch make_masked_batch(const DocumentSamples& samples, const Masking& masking, uint64_t epoch,
                              std::span<const uint32_t> indices);

struct NextTokenBatch {
  std::vector<int32_t> inputs;   // <s> x without its last id, one sample after another
  std::vector<int32_t> targets;  // x: of each row the id that follows it
  Segments segments;             // of both
};

// Samples of Task::next. In x, </s> stands after each document's last token.
NextTokenBatch make_next_token_batch(const DocumentSamples& samples, std::span<const uint32_t> indices);

}  // namespace gyre
