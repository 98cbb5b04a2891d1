// The clock, the memory and the measured limits of a benchmark's device.
#pragma once

#include <string>

#include "gyre/autograd/inspect/timeline.h"
#include "gyre/core/clock.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/memory.h"

namespace gyre {

// Waits until the queued work of a GPU is done.
void wait_for(Device device);

// A stopwatch that includes the queued work of a GPU.
class DeviceWatch {
 public:
  explicit DeviceWatch(Device device) : device_(device) { lap(); }
  // Seconds since the start or the last lap.
  double lap() {
    wait_for(device_);
    return watch_.lap();
  }

 private:
  Device device_;
  Stopwatch watch_;
};

MemoryStats tensor_memory(Device device);  // memory of the tensors on the device

// Probe for a timeline: its clock is `watch`. The times of a GPU are those of events in its queue.
Timeline::Probe device_probe(Device device, Stopwatch watch = {});

// Number of repetitions of short work within one measurement. On a GPU, waiting for the end would take longer than the
// work itself.
inline int runs_per_measurement(Device device) { return device == Device{} ? 1 : 20; }

// The machine's limit of matrix products in FLOP/s. On a CPU, whose speed varies with its other load, it is the better
// of two measurements: at construction and in value(). On a GPU only value() measures, so that peak_gpu_mb() before it
// does not include the memory of the measurement.
class ProductLimit {
 public:
  ProductLimit(Device device, Precision precision);
  double value() const;
  // Describes the limit that value() returns, such as "OpenBLAS sgemm, Haswell kernels, 2 threads".
  static std::string source(Device device, Precision precision);

 private:
  double measure() const;
  Device device_;
  Precision precision_;
  double at_start_ = 0;
};

double bandwidth_limit(Device device);  // bytes/s

double peak_gpu_mb(Device device);  // peak memory of tensors in MiB; 0 on a CPU

}  // namespace gyre
