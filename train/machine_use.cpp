#include "gyre/train/machine_use.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <span>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/hardware/cuda.h"
#include "gyre/core/hardware/gpu_peaks.h"
#include "gyre/core/hardware/machine_limits.h"
#include "gyre/core/number_text.h"

namespace gyre {
namespace {

ProductsLimit limit_of_rank(const Kernels& kernels, Precision precision) {
  if (kernels.device() == Device{}) {
    if (precision == Precision::bf16 && emulates_bf16()) return {0, "unknown: bf16 is emulated"};
    constexpr double kSeconds = 0.05;
    return {measure_multiply_adds(precision, threads(), kSeconds),
            concat("measured: ", widest_multiply_add(precision).name, " in registers, ", counted(threads(), "thread"))};
  }
  const GpuPeaks* const peaks = find_gpu_peaks(kernels.name());
  if (peaks == nullptr) return {0, concat("unknown: no data sheet of ", kernels.name())};
  return {peaks->of(precision), concat("data sheet of the ", peaks->words, ", ", enum_name(precision))};
}

}  // namespace

ProductsLimit products_limit(const Kernels& kernels, Precision precision, Communicator& ranks) {
  ranks.barrier();
  ProductsLimit limit = limit_of_rank(kernels, precision);
  std::vector<double> flops(size_t(ranks.size()));
  flops[size_t(ranks.rank())] = limit.flops;
  ranks.all_reduce(std::span<double>(flops));
  // Without the limit of one rank, that of all is unknown.
  const bool is_known = std::ranges::all_of(flops, [](double rate) { return rate > 0; });
  limit.flops = 0;
  for (const double rate : flops) limit.flops += is_known ? rate : 0;
  if (ranks.size() > 1) limit.source += concat(", ", ranks.size(), " ranks");
  return limit;
}

MemoryUse memory_use(Device device) {
  MemoryUse use;
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    uint64_t kibibytes = 0;
    if ((name == "RssAnon:" || name == "RssShmem:") && status >> kibibytes) use.process += kibibytes * 1024;
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  if (device.kind == Device::Kind::cuda) {
    const MemoryStats tensors = cuda_memory_stats(device.index);
    use.gpu = tensors.active_bytes + tensors.cached_bytes;
  }
  return use;
}

}  // namespace gyre
