// Paths of modules as a tape's nodes have them: "encoder.layers.0.self_attn".
#pragma once

#include <string>
#include <string_view>

namespace gyre {

// Whether a path is `module` or lies in it; all lie in "".
bool in_module(std::string_view path, std::string_view module);

// How many names it has; "" has none.
int names_in(std::string_view path);

// Its first `depth` names: "encoder.layers.0" for 3.
std::string cut_path(const std::string& path, int depth);

}  // namespace gyre
