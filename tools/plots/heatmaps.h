// Draws matrices as heatmaps, one panel each, with gnuplot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

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
