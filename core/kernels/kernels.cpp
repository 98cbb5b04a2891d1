// Devices and precisions by their names, the kernels of a device, the number of threads and the bf16 emulation.
#include "gyre/core/kernels/kernels.h"

#include <omp.h>

#include <algorithm>
#include <charconv>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cpu.h"
#include "gyre/core/hardware/cuda.h"
#include "gyre/core/option_checks.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"

namespace gyre {

Device parse_device(const std::string& name, int local_rank) {
  if (name == "cpu") return {};
  if (name == "cuda") return {Device::Kind::cuda, gpu_of_rank(local_rank, cuda_devices())};
  int index = -1;
  if (name.starts_with("cuda:")) {
    const char *begin = name.data() + 5, *end = name.data() + name.size();
    if (const auto [stop, error] = std::from_chars(begin, end, index); error != std::errc() || stop != end) index = -1;
  }
  if (index < 0) throw UsageError("[--device] expected cpu, cuda or cuda:N, got '", name, "'");
  return {Device::Kind::cuda, index};
}

Kernels& kernels_on(Device device) {
  if (device == kVirtualGpu) return virtual_kernels();
  return device.kind == Device::Kind::cpu ? cpu_kernels() : cuda_kernels(device.index);
}

std::vector<std::string> precision_names() { return {"fp32", "tf32", "bf16", "auto"}; }

std::vector<std::string> inference_precision_names() { return {"fp32", "tf32", "bf16", "int8", "auto"}; }

std::string precision_name(Precision precision) { return std::string(enum_name(precision)); }

Precision parse_precision(const std::string& name, const Kernels& kernels, const std::vector<std::string>& names) {
  if (std::ranges::count(names, name) == 0) {
    std::string expected = names.front();
    for (size_t i = 1; i < names.size(); ++i) expected += (i + 1 < names.size() ? ", " : " or ") + names[i];
    throw UsageError("[--precision] expected ", expected, ", got '", name, "'");
  }
  if (name == "fp32") return Precision::fp32;
  if (name == "auto") return kernels.has_bf16() ? Precision::bf16 : Precision::fp32;
  const bool on_gpu = kernels.device().kind == Device::Kind::cuda;
  if (name == "tf32") {
    if (on_gpu) return Precision::tf32;
    throw UsageError("[--precision] tf32 needs a GPU: use fp32, or --device cuda");
  }
  if (name == "int8") {
    if (!on_gpu) return Precision::int8;
    throw UsageError("[--precision] int8 is for CPUs: use bf16, or --device cpu");
  }
  if (!kernels.has_bf16()) {
    throw UsageError("[--precision] bf16 needs a CPU with ", bf16_extension(),
                     ", which this one lacks: use fp32 or auto");
  }
  return Precision::bf16;
}

// The best of the kernels that cpu_levels_x86_64.cpp or cpu_levels_aarch64.cpp lists.
Kernels& cpu_kernels() {
  static Kernels& best = *available_cpu_kernels().back();
  return best;
}

namespace {
bool bf16_is_emulated = false;
}

void emulate_bf16(bool on) { bf16_is_emulated = on; }
bool emulates_bf16() { return bf16_is_emulated; }

void set_threads(int n) {
  if (n < 1 || n > kMaxThreads) throw UsageError("[--cpu-threads] expected 1 to ", kMaxThreads, ", got ", n);
  omp_set_dynamic(0);  // OMP_DYNAMIC would start fewer threads on a busy machine
  omp_set_num_threads(std::min(n, omp_get_thread_limit()));
}

int threads() { return omp_get_max_threads(); }

}  // namespace gyre
