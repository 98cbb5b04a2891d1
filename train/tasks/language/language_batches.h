// Writes the batches of a language model's first updates to a file, so that another program can train on the same ones.
#pragma once

#include <cstdint>
#include <string>

#include "gyre/train/tasks/language/language_options.h"

namespace gyre {

// Writes the global batches of the first `updates` updates of a new run with these options to a safetensors file, and
// returns a description of it. All tensors are i32. The names begin with the number of the update, from 1, as
// "update-00000001."; with T rows in S samples and P predictions:
//   ids      (T)      the samples, one after another: after masking, or without their last token for a causal model
//   offsets  (S + 1)  sample i consists of the rows from offsets[i] to offsets[i + 1] - 1; with documents that attend
//                     apart, a sample counts once for each of its documents
//   rows     (P)      the rows to predict, ascending; absent for a causal model, which predicts in every row
//   targets  (P)      the id to predict in each of these rows
// The loss of the update is the mean over its P predictions, for any number of ranks and micro-batches. All batches are
// in memory until the file is written. Throws an Error that names the file.
std::string write_masked_batches(const Resolved<MaskedOptions>& options, uint64_t updates, const Path& file);
std::string write_causal_batches(const Resolved<LanguageOptions>& options, uint64_t updates, const Path& file);

}  // namespace gyre
