#include "gyre/autograd/module_path.h"

#include <algorithm>

namespace gyre {

bool in_module(std::string_view path, std::string_view module) {
  return module.empty() || path == module || (path.starts_with(module) && path[module.size()] == '.');
}

int path_depth(std::string_view path) { return path.empty() ? 0 : 1 + int(std::count(path.begin(), path.end(), '.')); }

std::string path_prefix(const std::string& path, int depth) {
  size_t end = 0;
  for (int i = 0; i < depth && end != std::string::npos; ++i) end = path.find('.', i == 0 ? 0 : end + 1);
  return path.substr(0, end);
}

}  // namespace gyre
