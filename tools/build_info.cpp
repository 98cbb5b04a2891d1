#include "tools/build_info.h"

#include <spdlog/version.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gyre/core/hardware/blas.h"
#include "gyre/core/hardware/cpu.h"
#include "gyre/core/hardware/cuda.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/version.h"
#include "gyre/train/parallel/mpi_support.h"

namespace gyre {

namespace {

#ifdef __clang__
constexpr const char* kCompiler = __VERSION__;  // version with the name
#else
constexpr const char* kCompiler = "g++ " __VERSION__;
#endif

const char* yes_or_no(bool has) { return has ? "yes" : "no"; }

std::string kernel_names() {
  std::string names;
  for (const Kernels* kernels : available_cpu_kernels())
    names.append(names.empty() ? "" : ", ").append(kernels->name());
  return names;
}

}  // namespace

std::string version_line() { return "gyre " + std::string(kVersion); }

std::string build_info() {
  std::ostringstream text;
  const auto fact = [&text](const std::string& name, const auto&... parts) {
    text << name << ": ";
    (text << ... << parts) << '\n';
  };
  fact("version", kVersion);
  fact("build", GYRE_BUILD_TYPE);
  fact("compiler", kCompiler);
  fact("threads", threads());
  fact("CPU kernels", cpu_kernels().name());
  fact("CPU kernels available", kernel_names());
  for (const auto& [extension, present] : cpu_extensions()) fact("CPU has " + extension, yes_or_no(present));
  fact("BLAS kernels", blas_kernels());
  if (const std::string advice = blas_advice(); !advice.empty()) fact("BLAS advice", advice);
  fact("CUDA", cuda_description());
  fact("MPI", mpi_library());
  fact("CLI11", CLI11_VERSION);
  fact("spdlog", SPDLOG_VER_MAJOR, '.', SPDLOG_VER_MINOR, '.', SPDLOG_VER_PATCH);
  fact("nlohmann-json", NLOHMANN_JSON_VERSION_MAJOR, '.', NLOHMANN_JSON_VERSION_MINOR, '.',
       NLOHMANN_JSON_VERSION_PATCH);
  return text.str();
}

}  // namespace gyre
