// Runs the program gnuplot on a script.
#pragma once

#include <string>
#include <string_view>

namespace gyre {

// A gnuplot string constant in single quotes, which interprets nothing.
std::string gnuplot_string(std::string_view text);

// Throws when `program` cannot be started, and when it fails, with its own message.
void run_gnuplot(const std::string& program, const std::string& script);

}  // namespace gyre
