// The initial weights and the vocabulary of a run: those of a new one, or those that a run which continues has already.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gyre/autograd/parameters.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/modules/lora.h"
#include "gyre/train/checkpoint/lora_record.h"
#include "gyre/train/job.h"
#include "gyre/train/options.h"

namespace gyre {

// Loads options.data.vocabulary. A run that continues has a copy of its vocabulary and uses it if there is no such
// file: the original may have been moved or removed since, or its path may be relative to another directory. Throws an
// Error if it is not the vocabulary that the run began with.
VocabularyFile load_training_vocabulary(const TrainOptions& options, const TokenizerChoice& tokenizer);

// Whether to read the pretrained model, which may be empty for none. A run that continues does not need it anymore.
bool starts_from(const Path& pretrained, const StartOptions& start);

// Throws a UsageError if the pretrained model is the run in the directory of the options, which a new run replaces.
void require_other_run(const Path& pretrained, const StartOptions& start);

// Where the weights of a run come from.
struct InitialWeights {
  const Path& pretrained;  // a run directory, a checkpoint in it, or its model.safetensors; empty: random weights
  const LoraOptions& lora;
  bool fused;  // whether all-linear chooses weights that stack several matrices as wholes (LoraAdapters)
  // In a new run: the options in which the architecture differs from that of `pretrained` ("layers 2 -> 3; .."), and
  // whether the position encoding does.
  std::string changes{};
  bool other_positions = false;
};

// The adapters that a run trains instead of the weights, if lora.rank is above 0.
struct TrainedAdapters {
  std::unique_ptr<LoraAdapters> adapters;  // null without adapters
  std::optional<LoraRecord> record;
};

// Allocates the parameters on the device of the job. In a new run, reads them from `from.pretrained`. If the
// architecture differs, the log says so, and names the tensors that only one of both models has; those of another
// position encoding are not read. A run that continues does not read the model, so it may have been moved since.
// Throws an Error if the model has another vocabulary, tensors of other shapes or, without `from.changes`, other
// tensors.
// With adapters, which are allocated too, it frees the gradients of the parameters. A run that continues then reads the
// base again, from where it found it before if `from.pretrained` does not exist anymore. Throws an Error if it has
// other weights.
TrainedAdapters allocate_initial_weights(Parameters& parameters, const TrainOptions& options,
                                         const InitialWeights& from, const Vocabulary& vocabulary,
                                         const JobContext& context);

}  // namespace gyre
