#include "gyre/train/parallel/shared_memory.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

namespace gyre {

Machines::Machines(std::vector<int> machine_of) : machine_of_(std::move(machine_of)) {
  std::map<int, int> numbers;
  for (int rank = 0; rank < int(machine_of_.size()); ++rank) {
    int& machine = machine_of_[size_t(rank)];
    machine = numbers.emplace(machine, int(numbers.size())).first->second;
    ranks_.resize(numbers.size());
    ranks_[size_t(machine)].push_back(rank);
  }
}

int Machines::index_of(int rank) const {
  const std::vector<int>& ranks = ranks_of(machine_of(rank));
  return int(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

int Machines::agent(int machine, int rank) const {
  const std::vector<int>& ranks = ranks_of(machine);
  return ranks[size_t(index_of(rank)) % ranks.size()];
}

namespace {
constexpr int kMostSteps = 32;  // limit for advance(), so that it returns within milliseconds
}

static_assert(std::atomic_ref<uint64_t>::is_always_lock_free);  // a lock would be private to the process

void WindowPipeline::start(std::unique_ptr<WindowTask> task, std::function<void()> callback) {
  started_.push_back({std::move(task), std::move(callback)});
}

bool WindowPipeline::advance() {
  int steps = 0;
  // The last stage comes first: what it reads is still in the caches, and it frees slots.
  while (steps < kMostSteps && (step(kTake) || step(kAdd) || step(kPack))) ++steps;
  return steps > 0;
}

bool WindowPipeline::step(Stage stage) {
  Cursor& cursor = cursors_[stage];
  if (cursor.task == started_.size() || !may_start(stage)) return false;
  WindowTask& task = *started_[cursor.task].task;
  slots_.clear();
  for (std::byte* segment : memory_.segments)
    slots_.push_back(segment + kStages * kCacheLine + int64_t(cursor.done % kSlots) * kSlotBytes);
  if (stage == kPack) task.pack(cursor.chunk, slots_);
  if (stage == kAdd) task.add(cursor.chunk, slots_);
  if (stage == kTake) task.take(cursor.chunk, slots_);
  ++cursor.done;
  memory_.synchronize();
  std::atomic_ref(counter(memory_.rank, stage)).store(cursor.done, std::memory_order_release);
  if (++cursor.chunk < task.chunks()) return true;
  cursor.chunk = 0;
  ++cursor.task;
  if (stage == kTake) finish_first();
  return true;
}

bool WindowPipeline::may_start(Stage stage) {
  const uint64_t done = cursors_[stage].done;
  const uint64_t reused = done < kSlots ? 0 : done - kSlots + 1;  // chunks whose slots this stage overwrites
  if (stage == kPack) {
    // The chunk that had this slot may belong to another task, whose results lie elsewhere in the slot.
    const bool same_task = cursors_[kPack].chunk >= kSlots;
    return all_have_done(kAdd, reused) && (same_task || all_have_done(kTake, reused));
  }
  if (stage == kAdd) return all_have_done(kPack, done + 1) && all_have_done(kTake, reused);
  return all_have_done(kAdd, done + 1);
}

bool WindowPipeline::all_have_done(Stage stage, uint64_t chunks) {
  uint64_t& seen = cursors_[stage].seen;
  if (seen >= chunks) return true;
  uint64_t least = UINT64_MAX;
  for (int rank = 0; rank < memory_.ranks(); ++rank)
    least = std::min(least, std::atomic_ref(counter(rank, stage)).load(std::memory_order_acquire));
  seen = least;
  memory_.synchronize();
  return seen >= chunks;
}

uint64_t& WindowPipeline::counter(int rank, Stage stage) const {
  return *reinterpret_cast<uint64_t*>(memory_.segments[size_t(rank)] + stage * kCacheLine);
}

// All stages of the first task are done on this rank.
void WindowPipeline::finish_first() {
  const Started first = std::move(started_.front());
  started_.pop_front();
  for (Cursor& cursor : cursors_) --cursor.task;
  first.callback();
}

}  // namespace gyre
