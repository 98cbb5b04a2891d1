// Draws curves over a common x axis, and matrices as heatmaps, with gnuplot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

// A curve; all have a common x axis.
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

// Numbers that a chart shows as bars, one for each name of the chart.
struct BarSeries {
  std::string name;
  std::vector<double> values;  // a value that is not finite has no bar
};

struct BarsPlot {
  std::string title, y_label;
  std::vector<std::string> names;  // names of the groups of bars
  std::vector<BarSeries> series;   // each has a bar in every group
  int width = 1200, height = 700;  // pixels
};

// Draws into `output`, .png or .svg. Throws Error if there is no bar or gnuplot fails.
void draw_bars(const BarsPlot& plot, const Path& output);

// A matrix, which is drawn as one panel.
struct Heatmap {
  std::string title;
  size_t rows = 0, columns = 0;
  std::vector<double> values;                                  // (rows, columns), the first row on top
  int first_row = 0;                                           // number of the first row on the axis
  std::vector<std::string> row_names = {}, column_names = {};  // replace the numbers if there is room
};

enum class HeatmapColors : uint8_t {
  weights,    // logarithmic scale from 0.0001 to 1; 0 is white
  threshold,  // black for values from the threshold on, yellow below
  signs,      // -1 blue, 0 white, 1 red; the scale is shown only for a single panel
  shares,     // 0 orange, 1 green
};

struct HeatmapsPlot {
  std::string title, x_label, y_label;
  HeatmapColors colors = HeatmapColors::weights;
  double threshold = 0;
  size_t columns = 1;  // columns of panels
  std::vector<Heatmap> panels;
  int panel = 420;  // minimum size of a panel in pixels; names may need more
};

// Draws into `output`, .png or .svg. Throws Error if there is no panel or gnuplot fails.
void draw_heatmaps(const HeatmapsPlot& plot, const Path& output);

}  // namespace gyre
