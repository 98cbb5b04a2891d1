#include "tools/plots/gnuplot.h"

#include <spdlog/fmt/fmt.h>

#include "tools/plots/external_program.h"
#include "tools/plots/picture_format.h"

namespace gyre {

std::string gnuplot_string(std::string_view text) {
  std::string constant = "'";
  for (const char c : text) constant.append(c == '\'' ? 2 : 1, c);
  return constant + "'";
}

const std::vector<std::string>& plot_colors() {
  static const std::vector<std::string> colors{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                               "#E69F00", "#56B4E9", "#666666"};
  return colors;
}

std::string gnuplot_terminal(const Path& output, int width, int height) {
  return fmt::format("set terminal {} size {},{} noenhanced font 'Sans,12' background '#ffffff'\nset output {}\n",
                     picture_format(output) == "svg" ? "svg" : "pngcairo", width, height,
                     gnuplot_string(output.string()));
}

void run_gnuplot(const std::string& program, const std::string& script) {
  run_on_text({.topic = "plot", .program = program, .arguments = {}, .remedy = "install gnuplot, or give its path"},
              script);
}

}  // namespace gyre
