#include "tools/plots/lines.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>

#include "core/error.h"
#include "train/log/gnuplot.h"

namespace gyre {
namespace {

// An empty line breaks the line that is drawn.
std::string data_block(size_t number, const PlotLine& line) {
  std::string text = fmt::format("$line{} << END\n", number);
  for (size_t i = 0; i < line.x.size(); ++i)
    text += std::isfinite(line.y[i]) ? fmt::format("{} {}\n", line.x[i], line.y[i]) : "\n";
  return text + "END\n";
}

// After all colours are used, the lines are dashed.
std::string style(const LinesPlot& plot, size_t number) {
  const size_t colors = plot_colors().size();
  return fmt::format("with {} lw 2 pt 7 ps 0.6 dt {} lc rgb '{}'", plot.markers ? "linespoints" : "lines",
                     number / colors + 1, plot_colors()[number % colors]);
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
  if (plot.logarithmic) script += "set logscale y\n";
  std::vector<std::string> drawn;
  for (size_t i = 0; i < plot.lines.size(); ++i) {
    script += data_block(i, plot.lines[i]);
    drawn.push_back(
        fmt::format("$line{} using 1:2 {} title {}", i, style(plot, i), gnuplot_string(plot.lines[i].name)));
  }
  run_gnuplot("gnuplot", script + fmt::format("plot {}\n", fmt::join(drawn, ", \\\n  ")));
}

}  // namespace gyre
