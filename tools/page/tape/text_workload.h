// A training step on a given text, for gyre inspect page.
#pragma once

#include <memory>
#include <string>

#include "gyre/core/io/file.h"
#include "gyre/core/tensor.h"
#include "tools/workload/workload.h"

namespace gyre {

struct StepText {
  std::string text;
  std::string target;  // target of a translation model
};

// Loads a run with its vocabulary. A causal model predicts each token of the text, a bidirectional one the tokens that
// the defaults of MaskingOptions mask, a translation model the target with label smoothing of 0.1. Throws UsageError
// for a classifier, and unless there is a target exactly for translation models.
std::unique_ptr<Workload> text_workload(const Path& model, const std::string& checkpoint, const StepText& text,
                                        Device device);

}  // namespace gyre
