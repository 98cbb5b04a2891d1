#include "gyre/train/tasks/initial_weights.h"

#include <spdlog/spdlog.h>

#include "gyre/core/error.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/pretrained/trained_model.h"

namespace gyre {
namespace {

// The rows of the embeddings belong to the ids of the model's own vocabulary. An imported model may have none.
void require_same_vocabulary(const Path& pretrained, const Vocabulary& vocabulary) {
  const Path run = find_run(pretrained);
  if (!has_vocabulary(run)) return;
  const Path own = find_vocabulary(run);
  require(load_vocabulary(own)->fingerprint() == vocabulary.fingerprint(),
          "[--pretrained-model] expected --vocab to be ", own.string(),
          ", the vocabulary of the model, got another one");
}

}  // namespace

void allocate_initial_weights(Parameters& parameters, const TrainOptions& options, const Path& pretrained,
                              const Vocabulary& vocabulary, const JobContext& context) {
  parameters.allocate(options.seed, DType::f32, context.kernels.device());
  if (pretrained.empty() || !list_checkpoints(options.start.directory).empty()) return;
  require_same_vocabulary(pretrained, vocabulary);
  load_model_weights(pretrained, parameters);
  spdlog::info("initial weights: {}", describe_model(pretrained));
}

}  // namespace gyre
