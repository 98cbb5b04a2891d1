// A hash for maps with string keys that allows lookup by std::string_view.
#pragma once

#include <functional>
#include <string_view>

namespace gyre {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

}  // namespace gyre
