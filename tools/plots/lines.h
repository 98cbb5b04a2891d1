// Lines over one axis as a picture, drawn by gnuplot.
#pragma once

#include <string>
#include <vector>

#include "core/file.h"

namespace gyre {

struct PlotLine {
  std::string name;
  std::vector<double> x, y;  // as many; a y that is not finite is a gap
};

struct LinesPlot {
  std::string title, x_label, y_label;
  bool logarithmic = false;  // the y axis
  bool markers = false;      // at the points: for few of them
  std::vector<PlotLine> lines;
  int width = 1200, height = 750;  // pixels
};

// Into `output`, .png or .svg.
void draw_lines(const LinesPlot& plot, const Path& output);

}  // namespace gyre
