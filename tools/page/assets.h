// The files of tools/page/assets, which tools/cmake/embed_assets.cmake makes part of the program.
#pragma once

#include <string_view>

namespace gyre {

// The content of the file with this path below tools/page/assets. Throws an Error if there is none.
std::string_view page_asset(std::string_view name);

}  // namespace gyre
