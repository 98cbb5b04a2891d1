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

// A dashed line across the picture, with its label at the top.
struct PlotMark {
  double x = 0;
  std::string label;
};

struct LinesPlot {
  std::string title, x_label, y_label;
  bool logarithmic = false;    // the y axis
  bool shares = false;         // the y axis goes from 0 to 1
  bool powers_of_two = false;  // what the x axis counts in
  bool markers = false;        // at the points: for few of them
  std::vector<PlotLine> lines;
  std::vector<PlotMark> marks;
  int width = 1200, height = 750;  // pixels
};

// Into `output`, .png or .svg.
void draw_lines(const LinesPlot& plot, const Path& output);

}  // namespace gyre
