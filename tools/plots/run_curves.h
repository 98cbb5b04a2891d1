// Reads the training curves of a run from its metrics.jsonl.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

struct CurvePoint {
  double updates;
  double value;  // not finite: a gap
};

using Curve = std::vector<CurvePoint>;

struct RunCurves {
  std::string name;  // name of the run directory
  Curve train_loss, smoothed_loss, valid_loss, bleu, learning_rate;
};

// True if the curve has a finite point.
bool has_points(const Curve& curve);

// `run`: a run directory or a metrics.jsonl. Throws an Error if it has neither training nor validation losses.
RunCurves read_curves(const Path& run, double smoothing);

// Moving mean over a centered window of the fraction `share` of the points (truncated at both ends). Unlike an
// exponential moving average, it does not lag behind a falling loss. Gaps remain gaps and are left out of the means.
Curve smooth(const Curve& curve, double share);

// Returns at most `max_points` evenly spaced points, including the last one.
Curve downsample(const Curve& curve, size_t max_points);

}  // namespace gyre
