// Functions on the module paths of a tape's nodes, such as "encoder.layers.0.self_attn".
#pragma once

#include <string>
#include <string_view>

namespace gyre {

// Whether `path` is `module` or one of its submodules. Every path is in module "".
bool in_module(std::string_view path, std::string_view module);

// Number of names in the path; 0 for "".
int path_depth(std::string_view path);

// The first `depth` names of the path: "encoder.layers.0" for 3.
std::string path_prefix(const std::string& path, int depth);

}  // namespace gyre
