// The target of gyre inspect and gyre gradcheck: a model (a preset with initial weights, or a run) and a batch of
// random tokens.
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
  AttentionConfig attention;  // options for a preset
  PositionConfig position;    // options for a preset
  int segments = 2, length = 8;
};

// Adds rows for all fields. `target` must outlive the table.
void add_target_options(OptionTable& table, InspectTarget& target);

// Call after resolve() if --model is given. Throws UsageError for an option of presets, which would have no effect.
void reject_preset_options(const OptionTable& table);

// Call after resolve(). Returns the workload with its weights loaded and the first batch drawn. Throws UsageError for
// an option that would have no effect.
std::unique_ptr<Workload> make_target_workload(const OptionTable& table, const InspectTarget& target,
                                               ParameterOptions parameter_options);

}  // namespace gyre
