// Pictures of training: the curves in metrics.jsonl, drawn by the program gnuplot.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"

namespace gyre {

struct PlotOptions {
  std::string title = {};  // default: the run's name for a single run, else none
  bool train_loss = true;
  bool bleu = true;            // validation BLEU on the right axis, where it was measured
  bool learning_rate = false;  // a second panel below
  double smoothing = 0.03;     // the training loss is a moving mean over this share of the run; 0 draws the raw curve
  int width = 1200;            // pixels
  int height = 750;
  std::string gnuplot = "gnuplot";  // the program
};

// Draws training loss (smoothed, over a pale raw curve), validation loss and validation BLEU over updates into
// `output`, .png or .svg. A run is a run directory or a metrics.jsonl; several share the axes, one colour each, named
// after their directories. Throws when a run has nothing to draw, or when gnuplot is missing or fails (with what it
// said).
void plot_runs(const std::vector<Path>& runs, const Path& output, const PlotOptions& options = {});

}  // namespace gyre
