// A tape as a picture: text for the program dot (Graphviz).
#pragma once

#include <string>
#include <vector>

#include "autograd/tape_rows.h"
#include "core/file.h"

namespace gyre {

struct TapeGraph {
  std::string title;
  std::string module;           // only this one; what comes from outside it and goes there are stubs; "": everything
  std::vector<double> seconds;  // of forward and backward, by node id: boxes are filled by their share of them; empty:
                                // by their share of the FLOPs
};

// Ops as boxes in the clusters of their modules, each with its parameters, their gradients and what it saved.
std::string tape_graph_dot(const std::vector<TapeRow>& rows, const TapeGraph& graph);

// Into `output`, .png or .svg. Throws when dot cannot be started, or fails.
void draw_graph(const std::string& dot, const Path& output);

}  // namespace gyre
