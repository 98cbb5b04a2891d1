// Clusters of a graph for the program dot (Graphviz), one within another.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gyre {

// As the text of a label in HTML, or of a string in quotes that is read as one (tooltip).
std::string dot_escaped(std::string_view text);

// "encoder", "layers.0", "self_attn" of "encoder.layers.0.self_attn": a number stays with what it counts.
std::vector<std::string> cluster_names(const std::string& module);

// The lines of a cluster and the clusters in it, in the order in which they came.
class DotCluster {
 public:
  // The one at the end of the path; made where there is none.
  DotCluster& at(const std::vector<std::string>& path);
  void add(std::string line) { lines_.push_back(std::move(line)); }

  // What stands between its braces.
  std::string text(const std::string& id = "cluster", const std::string& indent = "  ") const;

 private:
  DotCluster& part(const std::string& name);

  std::vector<std::string> lines_;
  std::vector<std::pair<std::string, DotCluster>> parts_;
};

}  // namespace gyre
