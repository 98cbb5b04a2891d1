// Runs gnuplot on a script, and helps to write scripts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

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
