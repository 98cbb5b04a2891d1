// Checks of the files of clean_corpus().
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/output_target.h"
#include "gyre/data/text/cleaning/clean_corpus.h"

namespace gyre {

namespace {

void require_given(const Path& path, bool is_needed, const char* flag, const char* needed_by) {
  if (is_needed && path.empty()) throw UsageError(flag, " is required with ", needed_by);
  if (!is_needed && !path.empty()) throw UsageError(flag, " needs ", needed_by);
}

}  // namespace

void CleaningFiles::validate(const CleaningOptions& options) const {
  const bool holds_out = options.holdout_every > 0;
  require_given(output_source, true, "--output-source", "--source");
  require_given(output_target, sides() == 2, "--output-target", "--target");
  require_given(holdout_source, holds_out, "--holdout-source", "--holdout-every");
  if (holds_out || sides() == 1) require_given(holdout_target, sides() == 2, "--holdout-target", "--target");
  if (!holds_out) require_given(holdout_target, false, "--holdout-target", "--holdout-every");
  const std::pair<const char*, const Path&> outputs[] = {{"--output-source", output_source},
                                                         {"--output-target", output_target},
                                                         {"--holdout-source", holdout_source},
                                                         {"--holdout-target", holdout_target},
                                                         {"--report", report}};
  for (const auto& [flag, path] : outputs) {
    if (path.empty()) continue;
    for (const auto* inputs : {&sources, &targets, &options.excluded}) require_no_input(path, *inputs, flag);
    for (const auto& [other_flag, other] : outputs) {
      if (&other == &path) break;
      if (!other.empty() && is_same_output(path, other))
        throw UsageError(flag, ": expected another file than ", other_flag, ", got ", path.string(), " for both");
    }
  }
}

}  // namespace gyre
