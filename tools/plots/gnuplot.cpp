#include "tools/plots/gnuplot.h"

#include <spdlog/fmt/fmt.h>

#include "gyre/core/error.h"
#include "gyre/data/text/utf8.h"
#include "tools/plots/external_program.h"
#include "tools/plots/picture_format.h"

namespace gyre {

namespace {

// gnuplot takes two quotes at the beginning of a constant for an empty one, so a leading quote gets double quotes.
std::string constant_of(std::string_view text) {
  if (text.starts_with('\'')) return "\"'\"." + constant_of(text.substr(1));
  std::string constant = "'";
  for (const char c : text) constant.append(c == '\'' ? 2 : 1, c);
  return constant + "'";
}

}  // namespace

std::string gnuplot_string(std::string_view text) {
  std::string line = printable_line(text);
  for (size_t at = line.find("]]>"); at != std::string::npos; at = line.find("]]>", at)) line.insert(at + 2, " ");
  return constant_of(line);
}

std::string gnuplot_tic(std::string_view text) {
  std::string format;
  for (const char c : text) format.append(c == '%' ? 2 : 1, c);
  return gnuplot_string(format);
}

std::string gnuplot_file(const Path& path) {
  const std::string name = path.string();
  require(name.find_first_of(std::string_view("\n\0", 2)) == std::string::npos, "[plot] ", printable_line(name),
          ": expected the name of a picture without line ends");
  return constant_of(path.is_absolute() ? name : "./" + name);
}

const std::vector<std::string>& plot_colors() {
  static const std::vector<std::string> colors{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                               "#E69F00", "#56B4E9", "#666666"};
  return colors;
}

std::string gnuplot_terminal(const Path& output, int width, int height) {
  return fmt::format("set terminal {} size {},{} noenhanced font 'Sans,12' background '#ffffff'\nset output {}\n",
                     picture_format(output) == "svg" ? "svg" : "pngcairo", width, height, gnuplot_file(output));
}

void run_gnuplot(const std::string& program, const std::string& script) {
  run_on_text({.topic = "plot", .program = program, .arguments = {}, .remedy = "install gnuplot, or give its path"},
              script);
}

}  // namespace gyre
