// The image formats of plots and graphs, which external programs draw.
#pragma once

#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"

namespace gyre {

// Returns "png" or "svg", the extension of `output`. Throws for any other.
inline std::string picture_format(const Path& output) {
  const std::string end = output.extension().string();
  require(end == ".png" || end == ".svg", "expected a name that ends in .png or .svg, got ", output.string());
  return end.substr(1);
}

}  // namespace gyre
