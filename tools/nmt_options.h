// The options of `gyre train nmt` as command-line rows: those of every training run, and its own.
#pragma once

#include "tools/option_table.h"
#include "train/nmt_options.h"

namespace gyre {

// `options` must outlive the table.
void add_nmt_options(OptionTable& table, NmtOptions& options);

// Options that were given although nothing in this run reads them are an error, not a silence. After resolve().
void reject_idle_nmt_options(const OptionTable& table, const NmtOptions& options);

}  // namespace gyre
