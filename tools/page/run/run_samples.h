// The outputs of a model for a few validation samples in the course of its training, for a page.
#pragma once

#include <vector>

#include "gyre/core/io/json.h"

namespace gyre {

inline constexpr size_t kMaxPageOutputs = 200;  // limit of a sample

// One object per sample, {"source", "reference", "outputs", "all"}, from the valid entries of metrics.jsonl. An output,
// {"first", "last", "text"}, names the updates of the first and the last of consecutive validations with this text.
// `all` is their number, of which at most kMaxPageOutputs remain. An empty list if the run recorded no samples.
Json sample_histories(const std::vector<Json>& entries);

}  // namespace gyre
