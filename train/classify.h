// Training a classifier of texts, or a regression on them: `gyre train classify|regress|pair`.
#pragma once

#include "models/config.h"
#include "train/classify_options.h"
#include "train/communicator.h"

namespace gyre {

// Collective, as train_nmt(). `encoder`: of a model that starts anew; with a pretrained one only its dropout is read.
// The run has a task.json (train/trained_task.h).
int train_classify(const ClassifyOptions& options, const EncoderOnlyConfig& encoder, Communicator& ranks);

}  // namespace gyre
