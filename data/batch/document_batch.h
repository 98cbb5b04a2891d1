// Packed batches without padding for encoder-only and decoder-only models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gyre/core/segments.h"
#include "gyre/data/batch/document_plan.h"
#include "gyre/data/batch/masking.h"

namespace gyre {

struct MaskedBatch {
  std::vector<int32_t> ids;      // <s> x </s> of each sample after masking, concatenated
  Segments segments;             // range of each sample in ids or, with documents apart, of each document of a sample
  std::vector<int32_t> rows;     // rows of ids to predict, in ascending order
  std::vector<int32_t> targets;  // original id of each of these rows
};

// Masks and packs samples of Task::masked. The mask of a sample depends on its number, not on the batch or micro-batch
// that contains it.
MaskedBatch make_masked_batch(const SampleSource& samples, const Masking& masking, uint64_t epoch,
                              std::span<const uint32_t> indices);

// Appends the input of a causal model for each target: <s>, then all targets but the last. There is at least one
// target.
void append_next_token_inputs(std::vector<int32_t>& inputs, int32_t bos, std::span<const int32_t> targets);

struct NextTokenBatch {
  std::vector<int32_t> inputs;   // <s> and x without its last id for each segment, concatenated
  std::vector<int32_t> targets;  // x of each segment: the id that follows each input
  Segments segments;             // range in inputs and targets of each sample, or of each document of a sample
};

// Packs samples of Task::next. x contains </s> after the last token of each document.
NextTokenBatch make_next_token_batch(const SampleSource& samples, std::span<const uint32_t> indices);

}  // namespace gyre
