#include "tools/options/tasks/language_options.h"

#include "tools/options/tasks/pretrained_row.h"
#include "tools/options/tasks/stage_options.h"
#include "tools/options/train_options.h"

namespace gyre {

void add_language_options(OptionTable& table, LanguageOptions& options, EncoderOnlyConfig& config) {
  table.add_options(options);
  set_common_training_rows(table);
  take_pretrained_config(table, options, config);
  add_stage_tables(table, options);
}

void check_language_options(const OptionTable& table, LanguageOptions& options) {
  // The stages of a run have resolved its schedule already.
  if (!options.pretrained_model.empty() && options.stages.empty()) set_fine_tuning_warmup(table, options);
  check_train_options(table, options);
}

}  // namespace gyre
