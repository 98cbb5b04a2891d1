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
  begin_block(int(threads_.size()));
  hopper_.begin_block(warps_.size());
  for (auto& clocks : named_barrier_clocks_) clocks.clear();
  for (Thread& thread : threads_) {
    wake(thread);
    thread.fiber.start(run_thread);
  }
  const auto is_done = [](const Thread& thread) { return thread.state == Thread::State::done; };
  while (!failed_) {
    // Copies happen as late as possible, or at any time.
    if (order_seed() != 0 && any_below(4) == 0) land_copy();
    if (failed_ || run_warp() || failed_) continue;
    if (std::all_of(threads_.begin(), threads_.end(), is_done)) break;
    if (!land_copy() && !open_barrier() && !failed_) report_deadlock();
  }
  if (failed_) return;
  std::string problem = shared_.end_block();
  if (problem.empty()) problem = hopper_.end_block();
  if (!problem.empty()) report_thread(threads_[0], problem);
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
bool BlockRunner::run_warp() {
  const auto can_run = [](const Warp& warp) { return warp.can_run; };
  const auto count = size_t(std::count_if(warps_.begin(), warps_.end(), can_run));
  if (count == 0) return false;
  auto chosen = std::find_if(warps_.begin(), warps_.end(), can_run);
  for (size_t skipped = any_below(count); skipped > 0; --skipped)
    chosen = std::find_if(chosen + 1, warps_.end(), can_run);
  chosen->can_run = false;
  run_lanes(*chosen);
  if (!failed_ && finish_operation(*chosen)) chosen->can_run = true;
  return true;
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

bool BlockRunner::finish_operation(Warp& warp) {
  const auto waiting = size_t(std::count_if(warp.lanes.begin(), warp.lanes.end(), calls_warp_operation));
  if (waiting == 0) return warp.can_run;
  if (waiting < kWarp) {
    report_missing_lane(warp);
    return warp.can_run;
  }
  WarpOperations operations;
  for (size_t i = 0; i < kWarp; ++i) operations[i] = warp.lanes[i]->operation;
  std::string problem = difference(operations);
  const int index = int(&warp - warps_.data());
  if (problem.empty() && operations[0]->is_async()) {
    running_ = warp.lanes[0];
    set_running_thread(index * kWarp);
    problem = hopper_.perform(index, operations);
  } else if (problem.empty()) {
    perform(operations);
  }
  if (!problem.empty()) report_thread(*warp.lanes[0], problem);
  if (operations[0]->kind == WarpOperation::Kind::sync) pass_warp_barrier(index);
  for (Thread* thread : warp.lanes) thread->state = Thread::State::ready;
  return true;
}

void BlockRunner::report_missing_lane(const Warp& warp) {
  const Thread& caller = **std::find_if(warp.lanes.begin(), warp.lanes.end(), calls_warp_operation);
  const std::string called = caller.operation->name() + (" at " + place(caller.operation->at));
  const auto other = std::find_if_not(warp.lanes.begin(), warp.lanes.end(), calls_warp_operation);
  if (other == warp.lanes.end())
    return report_thread(caller, called + " in a warp of " + std::to_string(warp.lanes.size()) + " lanes");
  // A lane that waits for a phase or for other warps comes later, or never: a deadlock.
  const auto comes_later = [](const Thread* thread) {
    using enum Thread::State;
    return thread->state == ready || thread->state == at_block_barrier || thread->state == at_named_barrier;
  };
  if (std::any_of(warp.lanes.begin(), warp.lanes.end(), comes_later)) return;
  const bool done = (*other)->state == Thread::State::done;
  report_thread(**other, "diverged warp: this thread " +
                             (done ? "has returned" : "waits at the barrier " + place((*other)->at)) +
                             " and another lane calls " + called);
}

bool BlockRunner::land_copy() {
  if (!hopper_.has_copies()) return false;
  const Hopper::Landed landed = hopper_.land_copy();
  if (!landed.problem.empty()) report_thread(threads_[size_t(landed.thread)], landed.problem);
  wake_waiting();
  return true;
}

bool BlockRunner::open_barrier() {
  const auto is_waiting = [](const Thread& thread) { return thread.state == Thread::State::at_barrier; };
  const auto waiting = std::find_if(threads_.begin(), threads_.end(), is_waiting);
  if (waiting == threads_.end()) return false;
  for (const Thread& other : threads_) {
    if (other.state == Thread::State::done) {
      report_thread(other, "diverged barrier: this thread has returned and another one waits at " + place(waiting->at));
      return false;
    }
    if (!is_waiting(other)) return false;
    if (other.at.line() != waiting->at.line() || std::strcmp(other.at.file_name(), waiting->at.file_name()) != 0) {
      report_thread(other, "diverged barrier: threads wait at " + place(waiting->at) + " and at " + place(other.at));
      return false;
    }
  }
  for (Thread& thread : threads_) wake(thread);
  pass_block_barrier();
  return true;
}

void BlockRunner::wake(Thread& thread) {
  thread.state = Thread::State::ready;
  warps_[size_t(&thread - threads_.data()) / kWarp].can_run = true;
}

void BlockRunner::wake_waiting() {
  for (Thread& thread : threads_) {
    if (thread.state != Thread::State::at_block_barrier) continue;
    if (Hopper::has_ended(*hopper_.find(thread.barrier), thread.parity)) wake(thread);
  }
}

void BlockRunner::wait_at_named_barrier() {
  Thread& own = *running_;
  own.state = Thread::State::at_named_barrier;
  const auto is_here = [&](const Thread& other) {
    return other.state == Thread::State::at_named_barrier && other.id == own.id;
  };
  release(named_barrier_clocks_[0][own.id]);
  int here = 0;
  for (const Thread& other : threads_) {
    if (!is_here(other)) continue;
    if (other.count != own.count) fail("barrier " + std::to_string(own.id) + ": different numbers of threads");
    ++here;
  }
  if (here == own.count) {
    for (const Warp& warp : warps_) {
      const auto lanes =
          std::count_if(warp.lanes.begin(), warp.lanes.end(), [&](const Thread* x) { return is_here(*x); });
      if (lanes != 0 && lanes != kWarp) fail("barrier " + std::to_string(own.id) + ": a part of a warp waits at it");
    }
    named_barrier_clocks_[1][own.id] = std::exchange(named_barrier_clocks_[0][own.id], {});
    for (Thread& other : threads_) {
      if (is_here(other)) wake(other);
    }
  }
  Fiber::suspend();
  acquire(named_barrier_clocks_[1][running_->id]);
}

void BlockRunner::report_deadlock() {
  std::map<std::string, std::pair<int, const Thread*>> groups;
  for (const Thread& thread : threads_) {
    std::string wait;
    if (thread.state == Thread::State::at_barrier) wait = "at __syncthreads(), ";
    if (thread.state == Thread::State::in_warp_operation)
      wait = "in " + std::string(thread.operation->name()) + ", " + place(thread.operation->at);
    if (thread.state == Thread::State::at_named_barrier)
      wait = "at barrier " + std::to_string(thread.id) + " of " + std::to_string(thread.count) + " threads, ";
    if (thread.state == Thread::State::at_block_barrier) {
      const BlockBarrier& barrier = *hopper_.find(thread.barrier);
      wait = "for a phase of parity " + std::to_string(thread.parity) + " of mbarrier " +
             std::to_string(barrier.number) + ", which is in phase " + std::to_string(barrier.phase) + " and misses " +
             std::to_string(barrier.pending) + " arrivals and " + std::to_string(barrier.bytes) + " bytes, ";
    }
    if (wait.empty()) continue;
    if (thread.state != Thread::State::in_warp_operation) wait += place(thread.at);
    const auto group = groups.insert({wait, {0, &thread}}).first;
    ++group->second.first;
  }
  std::string text = "deadlock:";
  for (const auto& [wait, group] : groups) text += " " + std::to_string(group.first) + " threads wait " + wait + ";";
  report_thread(*groups.begin()->second.second, text);
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
