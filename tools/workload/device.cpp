#include "tools/workload/device.h"

#include <algorithm>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/core/hardware/cuda.h"
#include "gyre/core/hardware/machine_limits.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "tools/summary.h"

namespace gyre {

void wait_for(Device device) {
  if (device != Device{}) cuda_synchronize(device.index);
}

MemoryStats tensor_memory(Device device) {
  if (device == kVirtualGpu) return virtual_memory_stats();
  return device == Device{} ? memory_stats() : cuda_memory_stats(device.index);
}

Timeline::Probe device_probe(Device device, Stopwatch watch) {
  const auto seconds = [device, watch] {
    wait_for(device);
    return watch.seconds();
  };
  Timeline::Probe probe{seconds, [device] { return tensor_memory(device).active_bytes; }};
  if (device == Device{}) return probe;
  probe.reading = [clock = cuda_clock(device.index), zero = steady_seconds() - watch.seconds()] {
    return [time = clock(), zero] { return time() - zero; };
  };
  return probe;
}

ProductLimit::ProductLimit(Device device, Precision precision) : device_(device), precision_(precision) {
  if (device == Device{}) at_start_ = measure();
}

double ProductLimit::value() const { return std::max(at_start_, measure()); }

double ProductLimit::measure() const {
  return device_ == Device{} ? measure_products(precision_, threads())
                             : measure_cuda_products(device_.index, precision_);
}

std::string ProductLimit::source(Device device, Precision precision) {
  if (device != Device{}) return concat("cuBLASLt, ", enum_name(precision), ", 8192 x 8192 x 8192");
  return concat(products_limit_source(precision), ", ", threads(), threads() == 1 ? " thread" : " threads");
}

double bandwidth_limit(Device device) {
  return device == Device{} ? measure_memory_bandwidth(threads()) : measure_cuda_bandwidth(device.index);
}

double peak_gpu_mb(Device device) {
  return device == Device{} ? 0 : double(tensor_memory(device).peak_bytes) / kMebibyte;
}

}  // namespace gyre
