// Nested clusters of a graph for the program dot (Graphviz).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gyre {

// Escapes text for an HTML label, or for a quoted string with the same syntax (tooltip).
std::string dot_escaped(std::string_view text);

// Splits a module path into names; a number stays with the preceding name. "encoder.layers.0.self_attn" gives
// "encoder", "layers.0", "self_attn".
std::vector<std::string> cluster_names(const std::string& module);

// A cluster with its lines and inner clusters, in the order in which they were added.
class DotCluster {
 public:
  // The inner cluster at the end of the path. Creates missing clusters.
  DotCluster& at(const std::vector<std::string>& path);
  void add(std::string line) { lines_.push_back(std::move(line)); }

  // The text between the braces of the cluster.
  std::string text(const std::string& id = "cluster", const std::string& indent = "  ") const;

 private:
  DotCluster& part(const std::string& name);

  std::vector<std::string> lines_;
  std::vector<std::pair<std::string, DotCluster>> parts_;
};

}  // namespace gyre
