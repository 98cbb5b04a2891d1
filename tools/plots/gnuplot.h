// Runs gnuplot and other programs that draw, and helps to write their scripts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"

namespace gyre {

// Returns "png" or "svg", the extension of `output`. Throws for any other.
inline std::string picture_format(const Path& output) {
  const std::string end = output.extension().string();
  require(end == ".png" || end == ".svg", "expected a name that ends in .png or .svg, got ", output.string());
  return end.substr(1);
}

// A program that reads a text: gnuplot a script, dot a graph.
struct ExternalProgram {
  std::string topic;    // prefix of error messages, in brackets: "plot"
  std::string program;  // a name or a path
  std::vector<std::string> arguments;
  std::string remedy;  // advice if it cannot be started: "install gnuplot, or give its path"
};

// Runs the program with its arguments and the path of a temporary file that contains the text. Throws an Error if it
// cannot be started, or, with its output as the message, if it fails.
void run_on_text(const ExternalProgram& call, const std::string& text);

// ---- Names and texts -----------------------------------------------------------------------------------------------
// Names and texts reach a script through these functions only. A gnuplot string in single quotes has no escape
// sequences, but it ends at the end of its line, and gnuplot takes the rest for commands.

// A constant with the text, in which control characters and line ends are printable (data/text/utf8.h). "]]>",
// which gnuplot would write into an SVG as it is, and which is an error there, gets a space.
std::string gnuplot_string(std::string_view text);
// The same as the label of a tic, which is a format of numbers.
std::string gnuplot_tic(std::string_view text);
// A constant with the name of a file to write. gnuplot would run the rest of a name after '|', and expand '~'. Throws
// an Error for a name with line ends.
std::string gnuplot_file(const Path& path);

// The palette of Okabe and Ito, whose colors color-blind readers can distinguish.
const std::vector<std::string>& plot_colors();

// The first lines of a script. `output`: a name that ends in .png or .svg; width and height are in pixels.
std::string gnuplot_terminal(const Path& output, int width, int height);

// Throws an Error if `program` cannot be started, or, with its output as the message, if it fails.
void run_gnuplot(const std::string& program, const std::string& script);

}  // namespace gyre
