#include "tests/cuda_emulation/streams.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tests/cuda_emulation/accesses/recording.h"
#include "tests/cuda_emulation/report.h"

namespace cuda_emulation {
namespace {

std::vector<std::unique_ptr<CUstream_st>>& streams() {
  static std::vector<std::unique_ptr<CUstream_st>> all;
  return all;
}
uint64_t calls = 0;

bool can_run(const Work& work) { return !work.awaited || work.awaited->done >= work.record; }

std::vector<CUstream_st*> streams_that_can_run() {
  std::vector<CUstream_st*> able;
  for (const auto& stream : streams()) {
    if (!stream->queue.empty() && can_run(stream->queue.front())) able.push_back(stream.get());
  }
  return able;
}

// Runs the first item of some stream. Returns false if there is none.
bool run_one() {
  const std::vector<CUstream_st*> able = streams_that_can_run();
  if (able.empty()) return false;
  CUstream_st* stream = able[any_below(able.size())];
  if (order_seed() == 0) {
    const auto number = [](const CUstream_st* s) { return s->queue.front().number; };
    stream = *std::min_element(able.begin(), able.end(), [&](auto* a, auto* b) { return number(a) < number(b); });
  }
  const Work work = std::move(stream->queue.front());
  stream->queue.pop_front();
  if (work.run) work.run();
  return true;
}

template <class F>
void run_while(const F& condition) {
  while (condition()) {
    if (!run_one()) throw std::logic_error("the emulated streams wait for each other");
  }
}

void run_stream(cudaStream_t stream) {
  run_while([&] { return !stream->queue.empty(); });
}

// Records that the program waits for the kernels in `before`. That drains the GPU if one is the last of its stream.
void record_waiting(const KernelsBefore& before) {
  bool drains = false;
  for (const auto& stream : streams()) {
    const auto found = before.find(stream->id);
    if (found == before.end()) continue;
    drains = drains || (found->second == stream->before[stream->id] && found->second > stream->awaited);
    stream->awaited = std::max(stream->awaited, found->second);
  }
  record_wait(drains);
}

}  // namespace

std::unique_lock<std::recursive_mutex> lock_gpu() {
  static std::recursive_mutex mutex;
  return std::unique_lock(mutex);
}

cudaStream_t add_stream() {
  static uint64_t count = 0;
  return streams().emplace_back(std::make_unique<CUstream_st>(++count)).get();
}

void remove_stream(cudaStream_t stream) {
  run_stream(stream);
  std::erase_if(streams(), [&](const auto& other) { return other.get() == stream; });
}

void queue(cudaStream_t stream, std::function<void()> run) { stream->queue.push_back({std::move(run), ++calls}); }

void queue_kernel(cudaStream_t stream, std::function<void()> run) {
  ++stream->before[stream->id];
  queue(stream, std::move(run));
}

void queue_record(cudaStream_t stream, const std::shared_ptr<EventState>& event) {
  event->before = stream->before;
  queue(stream, [event, record = ++event->recorded] {
    event->done = record;
    event->time = std::chrono::steady_clock::now();
  });
}

void queue_wait(cudaStream_t stream, const std::shared_ptr<EventState>& event) {
  stream->queue.push_back({nullptr, ++calls, event, event->recorded});
  for (const auto& [other, kernels] : event->before) stream->before[other] = std::max(stream->before[other], kernels);
}

void wait_for_stream(cudaStream_t stream) {
  record_waiting(stream->before);
  run_stream(stream);
}

void wait_until_done(const EventState& event) {
  record_waiting(event.before);
  run_while([&] { return event.done < event.recorded; });
}

void wait_for_everything() {
  KernelsBefore all;
  for (const auto& stream : streams()) all[stream->id] = stream->before[stream->id];
  record_waiting(all);
  run_everything();
}

void run_everything() {
  run_while([] {
    return std::any_of(streams().begin(), streams().end(), [](const auto& stream) { return !stream->queue.empty(); });
  });
}

void run_something() {
  constexpr size_t kMost = 4;
  for (size_t i = any_below(kMost); i > 0 && run_one(); --i) {
  }
}

}  // namespace cuda_emulation
