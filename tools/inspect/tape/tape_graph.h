// Draws a tape as a graph with the program dot (Graphviz).
#pragma once

#include <string>
#include <vector>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/core/io/file.h"

namespace gyre {

struct TapeGraph {
  std::string title;
  std::string module;           // draw only this module, with stubs for its inputs and uses outside; "": everything
  std::vector<double> seconds;  // time of forward and backward by node id, which determines the fill of the boxes;
                                // empty: the FLOPs determine it
};

// Returns the graph in the dot language: ops as boxes in the clusters of their modules, with their parameters,
// gradients and saved tensors.
std::string tape_graph_dot(const std::vector<TapeRow>& rows, const TapeGraph& graph);

// Draws the graph into `output`, .png or .svg. Throws Error if dot cannot be started or fails.
void draw_graph(const std::string& dot, const Path& output);

}  // namespace gyre
