// The figures of a run's metrics.jsonl as columns, from which a page draws curves, and the outputs of its model for a
// few validation samples.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/json.h"

namespace gyre {

// More entries cannot be distinguished on a screen and would make a page large.
inline constexpr size_t kMaxPageEntries = 2000;

// Whether a field of an entry is a metric: a number, or null if it was not finite, that does not count time, updates or
// tokens.
bool is_metric(const std::string& name, const Json& value);

// The figures of all entries of one event, "train" or "valid", as {"entries", "updates", "target_tokens", "seconds",
// "values"}. `values` has a list per metric. All lists are as long as `updates`; a figure that is missing or was not
// finite is null. Entries of validations have no target tokens, so these are interpolated from those of training.
// Of more than kMaxPageEntries entries, at most so many remain, among them the smallest and the largest losses and
// losses that were not finite; `entries` is the number of all.
Json metric_columns(const std::vector<Json>& entries, std::string_view event);

inline constexpr size_t kMaxPageOutputs = 200;  // limit of a sample

// One object per sample, {"source", "reference", "outputs", "all"}, from the valid entries of metrics.jsonl. An output,
// {"first", "last", "text"}, names the updates of the first and the last of consecutive validations with this text.
// `all` is their number, of which at most kMaxPageOutputs remain. An empty list if the run recorded no samples.
Json sample_histories(const std::vector<Json>& entries);

}  // namespace gyre
