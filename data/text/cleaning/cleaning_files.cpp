// Checks of the files of clean_corpus().
#include <filesystem>

#include "gyre/core/error.h"
#include "gyre/core/io/output_target.h"
#include "gyre/data/text/cleaning/clean_corpus.h"

namespace gyre {

namespace {

void require_given(const Path& path, bool is_needed, const char* flag, const char* needed_by) {
  if (is_needed && path.empty()) throw UsageError(flag, " is required with ", needed_by);
  if (!is_needed && !path.empty()) throw UsageError(flag, " needs ", needed_by);
}

// Two names of one regular file, or of a file that does not exist yet.
bool is_same_file(const Path& a, const Path& b) {
  if (!is_file_output(a) || !is_file_output(b)) return false;
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  // Of a relative name that does not exist, weakly_canonical() would leave the folder open.
  const auto full_name = [&](const Path& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  };
  return full_name(a) == full_name(b);
}

}  // namespace

std::vector<Path> CleaningFiles::outputs() const {
  std::vector<Path> given;
  for (const Path* path : {&output_source, &output_target, &holdout_source, &holdout_target, &report}) {
    if (!path->empty()) given.push_back(*path);
  }
  return given;
}

void CleaningFiles::validate(const CleaningOptions& options) const {
  const bool holds_out = options.holdout_every > 0;
  require_given(output_source, true, "--output-source", "--source");
  require_given(output_target, sides() == 2, "--output-target", "--target");
  require_given(holdout_source, holds_out, "--holdout-source", "--holdout-every");
  if (holds_out || sides() == 1) require_given(holdout_target, sides() == 2, "--holdout-target", "--target");
  if (!holds_out) require_given(holdout_target, false, "--holdout-target", "--holdout-every");
  const std::vector<Path> written = outputs();
  for (size_t i = 0; i < written.size(); ++i) {
    for (const auto* inputs : {&sources, &targets, &options.excluded}) require_no_input(written[i], *inputs);
    for (size_t j = 0; j < i; ++j) {
      if (is_same_file(written[i], written[j]))
        throw UsageError("two outputs have the same name: ", written[i].string());
    }
  }
}

}  // namespace gyre
