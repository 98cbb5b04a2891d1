// The device of a bench: its clock, its memory and its measured limits.
#pragma once

#include "autograd/timeline.h"
#include "core/kernels.h"
#include "core/memory.h"
#include "train/stopwatch.h"

namespace gyre {

// A GPU's work is queued: it is done when this returns.
void wait_for(Device device);

// Times work up to its end.
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

MemoryStats tensor_memory(Device device);  // of the tensors that lie there

// What a timeline looks at: the clock is that of `watch` and waits until the device is done.
Timeline::Probe device_probe(Device device, Stopwatch watch = {});

// How often short work is repeated within one measurement: on a GPU waiting for its end would take longer than itself.
inline int runs_in_a_row(Device device) { return device == Device{} ? 1 : 20; }

// FLOP/s of products. On a CPU, whose speed comes and goes with its other work, the best of two measurements: one at
// the start and one at value(). On a GPU value() alone measures, so that what it takes is not in peak_gpu_mb() before.
class ProductLimit {
 public:
  ProductLimit(Device device, Precision precision);
  double value() const;

 private:
  double measure() const;
  Device device_;
  Precision precision_;
  double at_start_ = 0;
};

double bandwidth_limit(Device device);  // bytes/s

double peak_gpu_mb(Device device);  // the most memory that tensors took; 0 on a CPU

}  // namespace gyre
