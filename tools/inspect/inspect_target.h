// The target of gyre inspect and gyre gradcheck: a model (a preset with other sizes, if given, and initial weights, or
// a run) and a batch of random tokens.
#pragma once

#include <memory>
#include <string>

#include "gyre/core/io/file.h"
#include "gyre/models/config/config.h"
#include "tools/command_line/option_table.h"
#include "tools/workload/workload.h"

namespace gyre {

struct InspectTarget {
  std::string preset = "transformer-tiny";
  Path model;  // instead of the preset
  std::string checkpoint;
  int64_t vocabulary = 1000;  // size; for a preset
  // The preset with the options: the one of its kind. The other has defaults.
  EncoderDecoderConfig encoder_decoder;
  EncoderOnlyConfig single_stack;
  int segments = 2, length = 8;
};

// Adds rows for all fields and for the options of both kinds of models. `target` must outlive the table.
void add_target_options(OptionTable& table, InspectTarget& target);

// Call after resolve() if there is no preset. Throws UsageError for an option of presets, which would have no effect.
void reject_preset_options(const OptionTable& table, const std::string& reason = "--model defines the configuration");

// Call after resolve(). Returns the workload with its weights loaded and the first batch drawn. Throws UsageError for
// an option that would have no effect.
std::unique_ptr<Workload> make_target_workload(const OptionTable& table, const InspectTarget& target,
                                               ParameterOptions parameter_options);

}  // namespace gyre
