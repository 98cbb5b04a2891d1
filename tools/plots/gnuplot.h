// Runs gnuplot on a script, and helps to write scripts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/io/file.h"

namespace gyre {

// Quotes a gnuplot string constant in single quotes, without escape sequences.
std::string gnuplot_string(std::string_view text);

// The palette of Okabe and Ito, whose colors color-blind readers can distinguish.
const std::vector<std::string>& plot_colors();

// The first lines of a script. `output`: a name that ends in .png or .svg; width and height are in pixels.
std::string gnuplot_terminal(const Path& output, int width, int height);

// Throws an Error if `program` cannot be started, or, with its output as the message, if it fails.
void run_gnuplot(const std::string& program, const std::string& script);

}  // namespace gyre
