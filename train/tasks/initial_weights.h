// The initial weights and the vocabulary of a run: those of a new one, or those that a run which continues has already.
#pragma once

#include "gyre/autograd/parameters.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/data/tokenizer/vocabulary.h"
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

// Allocates the parameters on the device of the job. In a new run, reads them from `pretrained`, unless it is empty: a
// run directory, a checkpoint in it, or its model.safetensors. A run that continues does not read it, so it may have
// been moved since. Throws an Error if the model has another vocabulary or other tensors.
void allocate_initial_weights(Parameters& parameters, const TrainOptions& options, const Path& pretrained,
                              const Vocabulary& vocabulary, const JobContext& context);

}  // namespace gyre
