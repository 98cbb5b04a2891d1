// The kinds of pictures that the programs beside Gyre draw.
#pragma once

#include <string>

#include "core/error.h"
#include "core/file.h"

namespace gyre {

// "png" or "svg", by the name's end. Throws for any other.
inline std::string picture_format(const Path& output) {
  const std::string end = output.extension().string();
  require(end == ".png" || end == ".svg", "expected a name that ends in .png or .svg, got ", output.string());
  return end.substr(1);
}

}  // namespace gyre
