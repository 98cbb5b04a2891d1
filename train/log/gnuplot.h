// Runs the program gnuplot on a script.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"

namespace gyre {

// A gnuplot string constant in single quotes, which interprets nothing.
std::string gnuplot_string(std::string_view text);

// Okabe and Ito's colours: told apart by colour-blind eyes, too.
const std::vector<std::string>& plot_colors();

// The lines that a script begins with: a picture of so many pixels in `output`, whose name ends in .png or .svg.
std::string gnuplot_terminal(const Path& output, int width, int height);

// Throws when `program` cannot be started, and when it fails, with its own message.
void run_gnuplot(const std::string& program, const std::string& script);

}  // namespace gyre
