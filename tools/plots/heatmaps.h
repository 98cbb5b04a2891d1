// Matrices of numbers from 0 up as one picture of panels, drawn by gnuplot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/file.h"

namespace gyre {

struct Heatmap {
  std::string title;
  size_t rows = 0, columns = 0;
  std::vector<double> values;                                  // rows * columns, the first row on top
  int first_row = 0;                                           // its number on the axis
  std::vector<std::string> row_names = {}, column_names = {};  // instead of numbers, where there is room
};

enum class HeatmapColors : uint8_t {
  weights,    // from 0.0001 to 1, logarithmic; 0 is left white
  threshold,  // black from the threshold on, yellow below
  signs,      // blue below 0, white, red above; beside several panels no scale: -1 to 1
};

struct HeatmapsPlot {
  std::string title, x_label, y_label;
  HeatmapColors colors = HeatmapColors::weights;
  double threshold = 0;
  size_t columns = 1;  // of panels
  std::vector<Heatmap> panels;
  int panel = 420;  // pixels, at least: names need more
};

// Into `output`, .png or .svg.
void draw_heatmaps(const HeatmapsPlot& plot, const Path& output);

}  // namespace gyre
