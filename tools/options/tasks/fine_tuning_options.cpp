#include "tools/options/tasks/fine_tuning_options.h"

#include "tools/options/train_options.h"

namespace gyre {

void check_fine_tuning_options(const OptionTable& table, FineTuningOptions& options) {
  if (!table.given("learn-rate")) options.optimizer.schedule.learning_rate = options.default_learning_rate();
  if (options.optimizer.schedule.warmup_percent > 0) set_fine_tuning_warmup(table, options);
  reject_pretrained_options(table, options);
  check_train_options(table, options);
}

void reject_pretrained_options(const OptionTable& table, const FineTuningOptions& options) {
  if (options.pretrained_model.empty()) return;
  for (const char* name : {"tokenizer", "dictionary"})
    table.reject_unused(
        name, false,
        "--pretrained-model has its own vocabulary; gyre import takes this option for a model of Hugging Face");
  for (const char* group : {"Model", "Attention", "Position encoding"})
    table.reject_group(group, "--pretrained-model defines the encoder");
}

}  // namespace gyre
