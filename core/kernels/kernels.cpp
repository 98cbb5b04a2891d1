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

Precision precision_on(const Kernels& kernels, std::optional<Precision> chosen) {
  if (!chosen) return kernels.has_bf16() ? Precision::bf16 : Precision::fp32;
  const bool on_gpu = kernels.device().kind == Device::Kind::cuda;
  switch (*chosen) {
    case Precision::fp32:
      break;
    case Precision::tf32:
      if (!on_gpu) throw UsageError("[--precision] tf32 needs a GPU: use fp32, or --device cuda");
      break;
    case Precision::int8:
      if (on_gpu) throw UsageError("[--precision] int8 is for CPUs: use bf16, or --device cpu");
      break;
    case Precision::bf16:
      if (!kernels.has_bf16())
        throw UsageError("[--precision] bf16 needs a CPU with ", bf16_extension(),
                         ", which this one lacks: use fp32 or auto");
  }
  return *chosen;
}

// The best of the kernels that cpu_levels_x86_64.cpp or cpu_levels_aarch64.cpp lists.
Kernels& cpu_kernels() {
  static Kernels& best = *available_cpu_kernels().back();
  return best;
}

namespace {
bool bf16_is_emulated = false;
int64_t elements_worth_a_thread = kWorthAThread;
}  // namespace

void emulate_bf16(bool on) { bf16_is_emulated = on; }
bool emulates_bf16() { return bf16_is_emulated; }

void set_worth_a_thread(int64_t elements) { elements_worth_a_thread = elements; }
int64_t worth_a_thread() { return elements_worth_a_thread; }

void set_threads(int n) {
  if (n < 1 || n > kMaxThreads) throw UsageError("[--cpu-threads] expected 1 to ", kMaxThreads, ", got ", n);
  omp_set_dynamic(0);  // OMP_DYNAMIC would start fewer threads on a busy machine
  omp_set_num_threads(std::min(n, omp_get_thread_limit()));
}

int threads() { return omp_get_max_threads(); }

}  // namespace gyre
