// Runs an external program on a text: gnuplot on a script, dot on a graph.
#pragma once

#include <string>
#include <vector>

namespace gyre {

struct ExternalProgram {
  std::string topic;    // prefix of error messages, in brackets: "plot"
  std::string program;  // a name or a path
  std::vector<std::string> arguments;
  std::string remedy;  // advice if it cannot be started: "install gnuplot, or give its path"
};

// Runs the program with its arguments and the path of a temporary file that contains the text. Throws an Error if it
// cannot be started, or, with its output as the message, if it fails.
void run_on_text(const ExternalProgram& call, const std::string& text);

}  // namespace gyre
