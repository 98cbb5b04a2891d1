// Queues of work for the emulated GPU. Work runs when the program waits for a stream, not when it is queued: with the
// seed 0 in the order of the calls, else in a random order that streams and events allow.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "cuda_runtime.h"

namespace cuda_emulation {

// By stream: the number of its kernels that run before some point of a stream, by order or by way of events.
using KernelsBefore = std::map<uint64_t, uint64_t>;

// State of an event. Records are numbered; one that has run is done, with all earlier ones.
struct EventState {
  uint64_t recorded = 0, done = 0;
  std::chrono::steady_clock::time_point time;  // time of the last record that is done
  KernelsBefore before;                        // kernels before the last record
};

struct Work {
  std::function<void()> run;
  uint64_t number;                        // counts the calls of the program
  std::shared_ptr<EventState> awaited{};  // runs when record `record` of this event is done
  uint64_t record = 0;
};

}  // namespace cuda_emulation

struct CUstream_st {
  uint64_t id;  // never used again
  std::deque<cuda_emulation::Work> queue{};
  cuda_emulation::KernelsBefore before{};  // kernels before the end of the stream
  uint64_t awaited = 0;                    // number of its kernels that the program has waited for
};
struct CUevent_st {
  std::shared_ptr<cuda_emulation::EventState> state = std::make_shared<cuda_emulation::EventState>();
};

namespace cuda_emulation {

std::unique_lock<std::recursive_mutex> lock_gpu();  // every call of the runtime holds it

cudaStream_t add_stream();
void remove_stream(cudaStream_t stream);  // queued work still runs
void queue(cudaStream_t stream, std::function<void()> run);
void queue_kernel(cudaStream_t stream, std::function<void()> run);  // `run`: a kernel, or a product of cublasLt
void queue_record(cudaStream_t stream, const std::shared_ptr<EventState>& event);
void queue_wait(cudaStream_t stream, const std::shared_ptr<EventState>& event);

// The program waits, which is recorded (recording.h).
void wait_for_stream(cudaStream_t stream);      // until it is empty
void wait_until_done(const EventState& event);  // until the last record is done
void wait_for_everything();

void run_everything();
void run_something();  // a few items of any streams, or none; with the seed 0 none

}  // namespace cuda_emulation
