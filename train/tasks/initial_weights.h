// The initial weights of a run: random ones, or those of a pretrained model.
#pragma once

#include "gyre/autograd/parameters.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/train/job_context.h"
#include "gyre/train/options.h"

namespace gyre {

// Allocates the parameters on the device of the job. In a new run, reads them from `pretrained`, unless it is empty: a
// run directory, a checkpoint in it, or its model.safetensors. A run that has checkpoints does not read it, so it may
// have been moved since. Throws an Error if the model has another vocabulary or other tensors.
void allocate_initial_weights(Parameters& parameters, const TrainOptions& options, const Path& pretrained,
                              const Vocabulary& vocabulary, const JobContext& context);

}  // namespace gyre
