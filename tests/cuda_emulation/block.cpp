#include "tests/cuda_emulation/block.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/cuda_emulation/accesses/shared_races.h"
#include "tests/cuda_emulation/report.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace cuda_emulation {
namespace {

BlockRunner* current_runner = nullptr;

std::string text(const uint3& index) {
  return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
}

template <class T>
void permute(std::vector<T>& items) {
  for (size_t i = items.size(); order_seed() != 0 && i > 1; --i) std::swap(items[i - 1], items[any_below(i)]);
}

bool calls_warp_operation(const Thread* thread) { return thread->state == Thread::State::in_warp_operation; }

}  // namespace

BlockRunner& BlockRunner::current() { return *current_runner; }

BlockRunner::BlockRunner(const Launch& launch)
    : launch_(launch), shared_(launch.dynamic_shared, launch.allowed_shared), threads_(launch.threads()) {
  for (size_t i = 0; i < threads_.size(); ++i) {
    const unsigned number = unsigned(i), *sizes = launch.block;
    threads_[i].index = {number % sizes[0], number / sizes[0] % sizes[1], number / (sizes[0] * sizes[1])};
    threads_[i].lane = int(i % kWarp);
    if (i % kWarp == 0) warps_.emplace_back();
    warps_.back().lanes.push_back(&threads_[i]);
  }
  for (Warp& warp : warps_) warp.order = warp.lanes;
}

void BlockRunner::run() {
  current_runner = this;
  gridDim = {launch_.grid[0], launch_.grid[1], launch_.grid[2]};
  blockDim = {launch_.block[0], launch_.block[1], launch_.block[2]};
  for (unsigned z = 0; z < gridDim.z; ++z) {
    for (unsigned y = 0; y < gridDim.y; ++y) {
      for (unsigned x = 0; x < gridDim.x && !failed_; ++x) {
        blockIdx = {x, y, z};
        run_block();
      }
    }
  }
  for (Thread& thread : threads_) thread.fiber.drop();
  current_runner = nullptr;
}

void BlockRunner::run_block() {
  shared_.begin_block();
  pass_block_barrier();
  for (Thread& thread : threads_) {
    thread.state = Thread::State::ready;
    thread.fiber.start(run_thread);
  }
  const auto is_done = [](const Thread& thread) { return thread.state == Thread::State::done; };
  while (!failed_ && !std::all_of(threads_.begin(), threads_.end(), is_done)) {
    run_phase();
    if (!failed_) open_barrier();
  }
  if (const std::string problem = shared_.end_block(); !problem.empty()) report_thread(threads_[0], problem);
}

void BlockRunner::run_thread() {
  BlockRunner& runner = current();
  runner.launch_.thread();
  Thread& thread = runner.thread();
  if (!thread.open.empty()) runner.fail("cp.async: a copy is not committed at the end of the kernel");
  for (const CopyGroup& group : thread.pending) {
    if (!group.empty()) runner.fail("cp.async: the kernel ends without waiting for a copy");
  }
  thread.pending.clear();
  thread.state = Thread::State::done;
  Fiber::finish();
}

// In order, a warp runs to the barrier before the next one starts. Otherwise a random warp runs to its next operation.
void BlockRunner::run_phase() {
  std::vector<size_t> left(warps_.size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = i;
  while (!left.empty() && !failed_) {
    const size_t chosen = any_below(left.size());
    Warp& warp = warps_[left[chosen]];
    run_lanes(warp);
    if (!failed_ && !finish_operation(warp)) left.erase(left.begin() + ptrdiff_t(chosen));
  }
}

void BlockRunner::run_lanes(Warp& warp) {
  permute(warp.order);
  for (Thread* thread : warp.order) {
    if (thread->state != Thread::State::ready) continue;
    running_ = thread;
    set_running_thread(int(thread - threads_.data()));
    threadIdx = thread->index;
    thread->fiber.resume();
    if (failed_) return;
  }
}

bool BlockRunner::finish_operation(const Warp& warp) {
  const auto waiting = size_t(std::count_if(warp.lanes.begin(), warp.lanes.end(), calls_warp_operation));
  if (waiting == 0) return false;
  if (waiting < kWarp) {
    report_missing_lane(warp);
    return false;
  }
  WarpOperations operations;
  for (size_t i = 0; i < kWarp; ++i) operations[i] = warp.lanes[i]->operation;
  if (const std::string problem = perform(operations); !problem.empty()) report_thread(*warp.lanes[0], problem);
  if (operations[0]->kind == WarpOperation::Kind::sync) pass_warp_barrier(int(&warp - warps_.data()));
  for (Thread* thread : warp.lanes) thread->state = Thread::State::ready;
  return true;
}

void BlockRunner::report_missing_lane(const Warp& warp) {
  const Thread& caller = **std::find_if(warp.lanes.begin(), warp.lanes.end(), calls_warp_operation);
  const std::string called = caller.operation->name() + (" at " + place(caller.operation->at));
  const auto other = std::find_if_not(warp.lanes.begin(), warp.lanes.end(), calls_warp_operation);
  if (other == warp.lanes.end())
    return report_thread(caller, called + " in a warp of " + std::to_string(warp.lanes.size()) + " lanes");
  const bool done = (*other)->state == Thread::State::done;
  report_thread(**other, "diverged warp: this thread " +
                             (done ? "has returned" : "waits at the barrier " + place((*other)->at)) +
                             " and another lane calls " + called);
}

void BlockRunner::open_barrier() {
  const auto is_waiting = [](const Thread& thread) { return thread.state == Thread::State::at_barrier; };
  const auto waiting = std::find_if(threads_.begin(), threads_.end(), is_waiting);
  if (waiting == threads_.end()) return;
  for (const Thread& other : threads_) {
    if (!is_waiting(other)) {
      report_thread(other, "diverged barrier: this thread has returned and another one waits at " + place(waiting->at));
      return;
    }
    if (other.at.line() != waiting->at.line() || std::strcmp(other.at.file_name(), waiting->at.file_name()) != 0) {
      report_thread(other, "diverged barrier: threads wait at " + place(waiting->at) + " and at " + place(other.at));
      return;
    }
  }
  for (Thread& thread : threads_) thread.state = Thread::State::ready;
  pass_block_barrier();
}

void BlockRunner::suspend(Thread::State state) {
  running_->state = state;
  Fiber::suspend();
}

void BlockRunner::fail(const std::string& problem) {
  report_thread(*running_, problem);
  Fiber::suspend();  // for ever
  std::abort();
}

void BlockRunner::report_thread(const Thread& thread, const std::string& problem) {
  report(launch_.kernel + ", block " + text(blockIdx) + ", thread " + text(thread.index) + ": " + problem);
  failed_ = true;
}

}  // namespace cuda_emulation
