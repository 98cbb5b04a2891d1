// The curves of a run, out of its metrics.jsonl.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"

namespace gyre {

struct CurvePoint {
  double updates;
  double value;  // not finite: a gap
};

using Curve = std::vector<CurvePoint>;

struct RunCurves {
  std::string name;  // the run directory's
  Curve train_loss, smoothed_loss, valid_loss, bleu, learning_rate;
};

// Whether there is anything to draw but gaps.
bool has_points(const Curve& curve);

// `run` is a run directory or a metrics.jsonl. Throws when it holds neither training nor validation losses.
RunCurves read_curves(const Path& run, double smoothing);

// Moving mean over a centred window of `share` of the points (one-sided at both ends): unlike an exponential mean it
// does not lag behind a falling loss. Gaps stay gaps and do not count.
Curve smooth(const Curve& curve, double share);

// At most `most` points, evenly spaced, the last one among them.
Curve thin_out(const Curve& curve, size_t most);

}  // namespace gyre
