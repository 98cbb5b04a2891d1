#include "tools/plots/charts.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "tools/plots/gnuplot.h"

namespace gyre {

namespace {

// An empty line of data interrupts the curve.
std::string data_block(size_t number, const PlotLine& line) {
  std::string text = fmt::format("$line{} << END\n", number);
  for (size_t i = 0; i < line.x.size(); ++i)
    text += std::isfinite(line.y[i]) ? fmt::format("{} {}\n", line.x[i], line.y[i]) : "\n";
  return text + "END\n";
}

// After all colors are used, further lines are dashed and have other point shapes.
std::string style(const LinesPlot& plot, size_t number) {
  constexpr std::array kPoints{7, 5, 9, 13};  // full circles, squares, triangles, diamonds
  const size_t colors = plot_colors().size(), turn = number / colors;
  return fmt::format("with {} lw 2 pt {} ps 0.8 dt {} lc rgb '{}'", plot.markers ? "linespoints" : "lines",
                     kPoints[turn % kPoints.size()], turn + 1, plot_colors()[number % colors]);
}

// Limits the axis to the range of the numbers, instead of gnuplot's whole decades.
std::string logarithmic_axis(const std::vector<PlotLine>& lines) {
  double least = INFINITY, most = 0;
  for (const PlotLine& line : lines) {
    for (const double y : line.y) {
      if (!std::isfinite(y) || y <= 0) continue;
      least = std::min(least, y / 1.04);
      most = std::max(most, y * 1.04);
    }
  }
  if (least > most) return "set logscale y\n";
  const std::vector<double> steps =
      most / least < 30 ? std::vector<double>{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9} : std::vector<double>{1, 2, 5};
  std::vector<double> tics;
  for (double decade = std::pow(10, std::floor(std::log10(least))); decade <= most; decade *= 10) {
    for (const double step : steps) {
      if (decade * step >= least && decade * step <= most) tics.push_back(decade * step);
    }
  }
  return fmt::format("set logscale y\nset yrange [{}:{}]\nset ytics ({:g})\n", least, most, fmt::join(tics, ", "));
}

std::string mark_script(const PlotMark& mark) {
  return fmt::format(
      "set arrow from first {0}, graph 0 to first {0}, graph 1 nohead dt 2 lw 1.5 lc rgb '#444444'\n"
      "set label {1} at first {0}, graph 1.02 center tc rgb '#444444'\n",
      mark.x, gnuplot_string(mark.label));
}

}  // namespace

void draw_lines(const LinesPlot& plot, const Path& output) {
  require(!plot.lines.empty(), "[plot] expected at least one line, got none");
  std::string script = gnuplot_terminal(output, plot.width, plot.height);
  script += "set border 3 lc rgb '#888888'\nset grid lt 1 lw 1 lc rgb '#e8e8e8'\nset tics nomirror\n";
  script += "set key outside right top Left reverse spacing 1.2\n";
  script += fmt::format("set title {} font ',15'\nset xlabel {}\nset ylabel {}\n", gnuplot_string(plot.title),
                        gnuplot_string(plot.x_label), gnuplot_string(plot.y_label));
  script += "set autoscale xfix\n";
  if (plot.logarithmic) script += logarithmic_axis(plot.lines);
  if (plot.shares) script += "set yrange [0:1]\n";
  if (plot.powers_of_two) script += "set logscale x 2\nset xtics 2\n";
  for (const PlotMark& mark : plot.marks) script += mark_script(mark);
  std::vector<std::string> drawn;
  for (size_t i = 0; i < plot.lines.size(); ++i) {
    script += data_block(i, plot.lines[i]);
    drawn.push_back(
        fmt::format("$line{} using 1:2 {} title {}", i, style(plot, i), gnuplot_string(plot.lines[i].name)));
  }
  run_gnuplot("gnuplot", script + fmt::format("plot {}\n", fmt::join(drawn, ", \\\n  ")));
}

void draw_bars(const BarsPlot& plot, const Path& output) {
  require(!plot.names.empty() && !plot.series.empty(), "[plot] expected at least one bar, got none");
  std::string script = gnuplot_terminal(output, plot.width, plot.height);
  script += "set border 3 lc rgb '#888888'\nset grid ytics lt 1 lw 1 lc rgb '#e8e8e8'\nset tics nomirror\n";
  script += "set style data histograms\nset style histogram clustered gap 1\nset style fill solid border -1\n";
  script +=
      "set xzeroaxis lt 1 lc rgb '#444444'\nset xtics rotate by 45 right\nset key outside right top Left reverse\n";
  script += fmt::format("set title {} font ',15'\nset ylabel {}\nset xrange [-0.7:{}]\n", gnuplot_string(plot.title),
                        gnuplot_string(plot.y_label), double(plot.names.size()) - 0.3);
  std::string tics;
  for (size_t i = 0; i < plot.names.size(); ++i)
    tics += fmt::format("{}{} {}", i == 0 ? "" : ", ", gnuplot_tic(plot.names[i]), i);
  script += fmt::format("set xtics ({})\n$bars << END\n", tics);
  for (size_t i = 0; i < plot.names.size(); ++i) {
    for (const BarSeries& series : plot.series)
      script += std::isfinite(series.values[i]) ? fmt::format("{} ", series.values[i]) : "NaN ";
    script += '\n';
  }
  script += "END\n";
  std::vector<std::string> drawn;
  for (size_t i = 0; i < plot.series.size(); ++i)
    drawn.push_back(fmt::format("$bars using {} title {} lc rgb '{}'", i + 1, gnuplot_string(plot.series[i].name),
                                plot_colors()[i % plot_colors().size()]));
  run_gnuplot("gnuplot", script + fmt::format("plot {}\n", fmt::join(drawn, ", \\\n  ")));
}

namespace {

constexpr double kMinWeight = 1e-4;  // smallest weight of the color scale

std::string palette(const HeatmapsPlot& plot) {
  switch (plot.colors) {
    case HeatmapColors::weights:
      return fmt::format(
          "set palette defined (0 '#fff7bc', 1 '#fec44f', 2 '#d95f0e', 3 '#7f0000')\n"
          "set logscale cb\nset cbrange [{}:1]\nset format cb '%g'\n",
          kMinWeight);
    case HeatmapColors::threshold:
      return "set palette defined (0 '#ffee66', 1 '#000000')\nset cbrange [0:1]\nunset colorbox\n";
    case HeatmapColors::signs:
      return fmt::format("set palette defined (-1 '#0072B2', 0 '#ffffff', 1 '#D55E00')\nset cbrange [-1:1]\n{}",
                         plot.panels.size() > 1 ? "unset colorbox\n" : "");
    case HeatmapColors::shares:
      return "set palette defined (0 '#D55E00', 0.5 '#F0E442', 1 '#009E73')\nset cbrange [0:1]\n";
  }
  return "";
}

std::string cell(const HeatmapsPlot& plot, double value) {
  if (plot.colors == HeatmapColors::threshold) return value >= plot.threshold ? "1" : "0";
  if (plot.colors == HeatmapColors::weights && value <= 0) return "NaN";
  return fmt::format("{:.4g}", value);
}

std::string data_block(const HeatmapsPlot& plot, size_t number) {
  const Heatmap& map = plot.panels[number];
  require(map.values.size() == map.rows * map.columns, "[plot] expected ", map.rows * map.columns, " numbers, got ",
          map.values.size());
  std::string text = fmt::format("$panel{} << END\n", number);
  for (size_t i = 0; i < map.values.size(); ++i)
    text += cell(plot, map.values[i]) + ((i + 1) % map.columns == 0 ? "\n" : " ");
  return text + "END\n";
}

constexpr int kNamePixels = 15, kMaxNames = 80;

bool has_room(const std::vector<std::string>& names) { return !names.empty() && names.size() <= size_t(kMaxNames); }

// The pixels that the longest name needs, with room for a short one if there are only numbers.
int name_pixels(const std::vector<std::string>& names) {
  constexpr int64_t kLetterPixels = 9, kShort = 5;
  int64_t most = kShort;
  if (has_room(names)) {
    for (const std::string& name : names)  // in UTF-8
      most = std::max<int64_t>(most, std::ranges::count_if(name, [](char c) { return (uint8_t(c) & 0xC0) != 0x80; }));
  }
  return int(most * kLetterPixels);
}

// Returns the panel size with room for all names of rows and columns, the title and the scale. Row names stand beside
// the columns, and column names below the rows.
int panel_pixels(const HeatmapsPlot& plot) {
  constexpr int kAround = 115;
  int pixels = plot.panel;
  for (const Heatmap& map : plot.panels) {
    for (const auto& [names, beside] :
         {std::pair(&map.column_names, &map.row_names), std::pair(&map.row_names, &map.column_names)})
      pixels =
          std::max(pixels, (has_room(*names) ? int(names->size()) * kNamePixels : 0) + kAround + name_pixels(*beside));
  }
  return pixels;
}

std::string named_tics(const char* axis, const std::vector<std::string>& names) {
  std::string text = fmt::format("set {}tics (", axis);
  for (size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", gnuplot_tic(names[i]), i);
  return text + (*axis == 'x' ? ") rotate by 90 right\n" : ")\n");
}

// Tics only at integers, because features and tokens are counted.
std::string tics(const char* axis, size_t count, const std::vector<std::string>& names) {
  constexpr size_t kFew = 12;
  if (has_room(names)) return named_tics(axis, names);
  return fmt::format("set {}tics norotate {}\n", axis, count <= kFew ? "1" : "autofreq");
}

// SVG viewers blur small images, so small matrices are drawn as rectangles.
const char* image(const Heatmap& map) {
  constexpr size_t kFew = 1024;
  return map.rows * map.columns <= kFew ? "image pixels" : "image";
}

std::string draw_panel(size_t number, const Heatmap& map) {
  return tics("x", map.columns, map.column_names) + tics("y", map.rows, map.row_names) +
         fmt::format(
             "set title {}\nset xrange [-0.5:{}]\nset yrange [{}:{}]\n"
             "plot $panel{} matrix using 1:($2 + {}):3 with {} notitle\n",
             gnuplot_string(map.title), double(map.columns) - 0.5, map.first_row + double(map.rows) - 0.5,
             map.first_row - 0.5, number, map.first_row, image(map));
}

}  // namespace

void draw_heatmaps(const HeatmapsPlot& plot, const Path& output) {
  require(!plot.panels.empty(), "[plot] expected at least one matrix, got none");
  const size_t rows = (plot.panels.size() + plot.columns - 1) / plot.columns;
  const int panel = panel_pixels(plot);
  std::string script = gnuplot_terminal(output, int(plot.columns) * panel + 60, int(rows) * panel + 40);
  for (size_t i = 0; i < plot.panels.size(); ++i) script += data_block(plot, i);
  script += palette(plot) +
            "set datafile missing 'NaN'\nset tics out nomirror tc rgb '#000000'\nset border lc rgb '#888888'\n";
  script += fmt::format("set xlabel {}\nset ylabel {}\n", gnuplot_string(plot.x_label), gnuplot_string(plot.y_label));
  script += fmt::format("set multiplot layout {},{} title {}\n", rows, plot.columns, gnuplot_string(plot.title));
  for (size_t i = 0; i < plot.panels.size(); ++i) script += draw_panel(i, plot.panels[i]);
  run_gnuplot("gnuplot", script + "unset multiplot\n");
}

}  // namespace gyre
