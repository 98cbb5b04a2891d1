#include "tools/inspect/tape/dot_clusters.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "gyre/data/text/printable.h"

namespace gyre {

std::string dot_escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\\':
        result += "&#92;";
        break;
      case '\n':
        result += "&#10;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::vector<std::string> cluster_names(const std::string& module) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < module.size();) {
    const size_t end = std::min(module.find('.', begin), module.size());
    const std::string name = module.substr(begin, end - begin);
    if (!names.empty() && name.find_first_not_of("0123456789") == std::string::npos) {
      names.back() += "." + name;
    } else {
      names.push_back(name);
    }
    begin = end + 1;
  }
  return names;
}

DotCluster& DotCluster::at(const std::vector<std::string>& path) {
  DotCluster* cluster = this;
  for (const std::string& name : path) cluster = &cluster->part(name);
  return *cluster;
}

std::string DotCluster::text(const std::string& id, const std::string& indent) const {
  std::string result;
  for (const std::string& line : lines_) result += indent + line + "\n";
  for (size_t i = 0; i < parts_.size(); ++i) {
    const std::string inner = id + "_" + std::to_string(i);
    result += fmt::format("{0}subgraph {1} {{\n{0}  label=<<B>{2}</B>>\n{3}{0}}}\n", indent, inner,
                          dot_escaped(parts_[i].first), parts_[i].second.text(inner, indent + "  "));
  }
  return result;
}

DotCluster& DotCluster::part(const std::string& name) {
  for (auto& [known, cluster] : parts_)
    if (known == name) return cluster;
  return parts_.emplace_back(name, DotCluster()).second;
}

}  // namespace gyre
