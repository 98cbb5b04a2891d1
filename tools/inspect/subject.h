// What gyre inspect and gyre gradcheck look at: a model - of a preset, with its initial weights, or of a run - and a
// batch of random tokens.
#pragma once

#include <memory>
#include <string>

#include "core/file.h"
#include "models/config.h"
#include "tools/option_table.h"
#include "tools/workload.h"

namespace gyre {

struct Subject {
  std::string preset = "transformer-tiny";
  Path model;  // instead of the preset
  std::string checkpoint;
  int64_t vocabulary = 1000;  // of the preset
  AttentionConfig attention;  // of the preset
  PositionConfig position;    // of the preset
  int segments = 2, length = 8;
};

// Rows for all fields; `subject` must outlive the table.
void add_subject_options(OptionTable& table, Subject& subject);

// After resolve(). With weights in place and the first batch drawn. Throws UsageError for an option that nothing reads.
std::unique_ptr<Workload> make_subject(const OptionTable& table, const Subject& subject, WorkloadPlace place);

}  // namespace gyre
