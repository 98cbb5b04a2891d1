// Reads the training curves of runs from their metrics.jsonl, and plots them with gnuplot.
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

struct PlotOptions {
  std::string title = {};  // default: the run's name for a single run, else none
  bool train_loss = true;
  bool bleu = true;            // validation BLEU on the right axis, if available
  bool learning_rate = false;  // a second panel below
  double smoothing = 0.03;     // moving mean of the training loss over this fraction of the run; 0 draws the raw curve
  int width = 1200;            // pixels
  int height = 750;
  std::string gnuplot = "gnuplot";  // name or path of the program
};

// Draws training loss (smoothed, over a pale raw curve), validation loss and validation BLEU over updates into
// `output`, .png or .svg. A run is a run directory or a metrics.jsonl. Several runs share the axes, with one color per
// run, and are named after their directories. Throws an Error if a run has nothing to draw, or if gnuplot is missing or
// fails (with its output).
void plot_runs(const std::vector<Path>& runs, const Path& output, const PlotOptions& options = {});

}  // namespace gyre
