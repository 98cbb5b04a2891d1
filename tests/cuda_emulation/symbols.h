// Symbol table of the running program: names of kernels, and static variables of functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cuda_emulation {

struct Variable {
  std::string name;
  std::byte* data;
  size_t bytes;
};

std::string mangled_name(const void* function);
// The demangled name of a function without namespaces and parameters: "scan_kernel<float>".
std::string function_name(const void* function);

// The static variables of the function that contains the static variable at `marker`, without that variable and others
// with the same name up to the number at its end.
std::vector<Variable> variables_beside(const char* marker);

}  // namespace cuda_emulation
