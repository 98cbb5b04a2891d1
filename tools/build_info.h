// Version, build and hardware information for bug reports: `gyre --version`, `gyre --build-info`.
#pragma once

#include <string>

namespace gyre {

std::string version_line();
// `name: value` lines: compiler, build type, processor, OpenBLAS and its kernels, MPI, libraries.
std::string build_info();

}  // namespace gyre
