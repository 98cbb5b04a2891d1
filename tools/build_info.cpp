#include "tools/build_info.h"

#include <spdlog/version.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/blas.h"
#include "core/kernels.h"
#include "core/version.h"

namespace gyre {

std::string version_line() { return "gyre " + std::string(kVersion); }

std::string build_info() {
  std::ostringstream text;
  text << "version: " << kVersion << "\nbuild: " << GYRE_BUILD_TYPE << "\ncompiler: g++ " << __VERSION__
       << "\nCPU kernels: " << available_cpu_kernels().back()->name() << "\nBLAS kernels: " << blas_kernels()
       << "\nthreads: " << threads() << "\nCLI11: " << CLI11_VERSION << "\nspdlog: " << SPDLOG_VER_MAJOR << '.'
       << SPDLOG_VER_MINOR << '.' << SPDLOG_VER_PATCH << "\nnlohmann-json: " << NLOHMANN_JSON_VERSION_MAJOR << '.'
       << NLOHMANN_JSON_VERSION_MINOR << '.' << NLOHMANN_JSON_VERSION_PATCH << '\n';
  return text.str();
}

}  // namespace gyre
