// Another program that works on a text: gnuplot on a script, dot on a graph.
#pragma once

#include <string>
#include <vector>

namespace gyre {

struct ExternalProgram {
  std::string topic;    // in brackets before its errors: "plot"
  std::string program;  // a name or a path
  std::vector<std::string> arguments;
  std::string remedy;  // where it cannot be started: "install gnuplot, or name it by its path"
};

// Runs it with its arguments and a temporary file that holds the text. Throws when it cannot be started, and when it
// fails, with its own message.
void run_on_text(const ExternalProgram& call, const std::string& text);

}  // namespace gyre
