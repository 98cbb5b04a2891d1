// The training options as command-line rows: the one place that ties names, aliases (Marian's and fairseq's), defaults
// and units to the fields of TrainOptions.
#pragma once

#include "tools/option_table.h"
#include "train/options.h"

namespace gyre {

// `options` must outlive the table.
void add_train_options(OptionTable& table, TrainOptions& options);

// Options that were given although nothing in this run reads them are an error, not a silence. After resolve().
void reject_idle_train_options(const OptionTable& table, const TrainOptions& options);

}  // namespace gyre
