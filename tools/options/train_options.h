// What follows when the options of a training run have been read from the command line and from files.
#pragma once

#include "gyre/train/options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// The rows that --help of gyre train shows.
void set_common_training_rows(OptionTable& table);

// Call after resolve(). Stores the resolved options and the notes that the run writes and logs.
void record_train_options(const OptionTable& table, TrainOptions& options);

// Call after resolve(). Unless --lr-warmup is given, sets the default warm-up of a run that starts from a pretrained
// model: kFineTuningWarmup percent of its updates, if their number is known.
void set_fine_tuning_warmup(const OptionTable& table, TrainOptions& options);

// Call after resolve(). Sets the defaults that depend on other options, and throws UsageError for options that were
// given but would have no effect in this run.
void check_train_options(const OptionTable& table, TrainOptions& options);

}  // namespace gyre
