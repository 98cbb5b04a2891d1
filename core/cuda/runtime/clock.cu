// The time of the GPU: events in the queue of kernels, which nothing waits for until they are read.
#include <functional>
#include <memory>

#include "gyre/core/clock.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/hardware/cuda.h"

namespace gyre {
namespace cuda {
namespace {

class TimedEvent {
 public:
  explicit TimedEvent(const Context& context) {
    check(cudaEventCreate(&event_), "cudaEventCreate");
    check(cudaEventRecord(event_, context.stream()), "cudaEventRecord");
  }
  ~TimedEvent() { cudaEventDestroy(event_); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;

  // Waits for this event, which was recorded after `earlier`.
  double seconds_since(const TimedEvent& earlier) const {
    check(cudaEventSynchronize(event_), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
    return 1e-3 * double(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace
}  // namespace cuda

// Times between events are floats of milliseconds.
std::function<std::function<double()>()> cuda_clock(int index) {
  cuda::Context& context = cuda::Context::of(index);
  context.synchronize();
  const double zero = steady_seconds();
  const auto first = std::make_shared<cuda::TimedEvent>(context);
  return [&context, zero, first] {
    return
        [zero, first, now = std::make_shared<cuda::TimedEvent>(context)] { return zero + now->seconds_since(*first); };
  };
}

}  // namespace gyre
