// Plots the training curves in metrics.jsonl with gnuplot.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

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
