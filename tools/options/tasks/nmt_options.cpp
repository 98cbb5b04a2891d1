#include "tools/options/tasks/nmt_options.h"

#include "tools/options/model_options.h"
#include "tools/options/tasks/pretrained_row.h"
#include "tools/options/train_options.h"

namespace gyre {

void add_nmt_options(OptionTable& table, NmtOptions& options, EncoderDecoderConfig& config) {
  table.add_options(options);
  set_common_training_rows(table);
  take_pretrained_config(table, options, config);
}

void check_nmt_training(const OptionTable& table, NmtOptions& options) {
  if (!options.pretrained_model.empty()) set_fine_tuning_warmup(table, options);
  check_train_options(table, options);
}

void check_nmt_options(const OptionTable& table, NmtOptions& options, const EncoderDecoderConfig& config) {
  check_nmt_training(table, options);
  check_model_options(table, config);
  const bool has_dropout = config.dropout > 0 || config.attention_dropout > 0 || config.activation_dropout > 0;
  table.reject_unused("r-drop", has_dropout, "without dropout both passes are the same");
}

}  // namespace gyre
