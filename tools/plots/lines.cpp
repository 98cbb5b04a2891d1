#include "tools/plots/lines.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>

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

}  // namespace gyre
