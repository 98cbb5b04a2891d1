// Draws curves over a common x axis with gnuplot.
#pragma once

#include <string>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

struct PlotLine {
  std::string name;
  std::vector<double> x, y;  // coordinates, as many of x as of y; a y that is not finite is a gap
};

// A vertical dashed line with a label at the top.
struct PlotMark {
  double x = 0;
  std::string label;
};

struct LinesPlot {
  std::string title, x_label, y_label;
  bool logarithmic = false;    // logarithmic y axis
  bool shares = false;         // y axis from 0 to 1
  bool powers_of_two = false;  // logarithmic x axis in powers of two
  bool markers = false;        // mark the points, for curves with few points
  std::vector<PlotLine> lines;
  std::vector<PlotMark> marks;
  int width = 1200, height = 750;  // pixels
};

// Draws into `output`, .png or .svg. Throws Error if there is no line or gnuplot fails.
void draw_lines(const LinesPlot& plot, const Path& output);

}  // namespace gyre
