// The machines on which the ranks of a job run, and exchanges through the memory that the ranks of a machine share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gyre {

// The machine of each rank.
class Machines {
 public:
  // `machine_of`: by rank, a number that only the ranks of one machine have in common.
  explicit Machines(std::vector<int> machine_of);
  int ranks() const { return int(machine_of_.size()); }
  int count() const { return int(ranks_.size()); }  // machines, in the order of their first ranks
  int machine_of(int rank) const { return machine_of_[size_t(rank)]; }
  const std::vector<int>& ranks_of(int machine) const { return ranks_[size_t(machine)]; }  // ranks in ascending order
  int index_of(int rank) const;  // place of a rank among those of its machine
  // The rank of `machine` that exchanges what concerns `rank` with other machines: `rank` itself on its own machine.
  int agent(int machine, int rank) const;

 private:
  std::vector<int> machine_of_;
  std::vector<std::vector<int>> ranks_;
};

// ---- Exchanges through shared memory -------------------------------------------------------------------------------
// Exchanges between the ranks of one machine through memory that they share. Each rank owns a segment of this memory,
// which has a few slots. A task is cut into chunks that fit a slot, and every chunk passes three stages on each rank:
//
//   pack  the rank writes what other ranks need of its data to its slot
//   add   when all ranks have packed, it reads its share from all slots, and writes the result to its own
//   take  when all ranks have added, it reads the results from all slots
//
// The stages of successive chunks overlap: a slot is packed again when all ranks have added its contents, and its
// result is replaced when all ranks have taken it. Counters in the segments tell how far each rank is. Nothing waits:
// advance() does what is possible at this moment. The chunks are small enough to stay in the caches.

// The memory that the ranks of a machine share.
struct SharedSegments {
  int rank = 0;                               // index of this rank among those of the machine
  std::vector<std::byte*> segments{};         // segments by rank, aligned to 64 bytes, zero before the first use
  std::function<void()> synchronize = [] {};  // makes writes visible, where that takes more than atomics
  int ranks() const { return int(segments.size()); }
};

class WindowTask {
 public:
  // Slots by rank of the machine. A rank writes to its own slot only.
  using Slots = std::span<std::byte* const>;

  virtual ~WindowTask() = default;
  virtual const char* name() const = 0;  // name for traces
  virtual int64_t bytes() const = 0;     // size of this rank's data, for traces
  virtual int64_t chunks() const = 0;    // number of chunks: at least 1, and the same on all ranks
  // pack() and add() write to different parts of the slot, the same ones for all chunks.
  virtual void pack(int64_t chunk, Slots slots) = 0;
  virtual void add(int64_t chunk, Slots slots) = 0;
  virtual void take(int64_t chunk, Slots slots) = 0;
};

// Not thread-safe. All ranks of the machine start the same tasks in the same order.
class WindowPipeline {
 public:
  static constexpr int kSlots = 4;
  static constexpr int64_t kSlotBytes = int64_t{512} << 10;
  static constexpr int64_t kCacheLine = 64;
  enum Stage { kPack, kAdd, kTake, kStages };
  static constexpr int64_t kSegmentBytes = kStages * kCacheLine + kSlots * kSlotBytes;

  explicit WindowPipeline(SharedSegments memory) : memory_(std::move(memory)) {}

  // `callback` is called by advance() when this rank has done all stages. It may start further tasks.
  void start(std::unique_ptr<WindowTask> task, std::function<void()> callback);
  // Returns whether there was anything to do.
  bool advance();
  bool idle() const { return started_.empty(); }

 private:
  struct Started {
    std::unique_ptr<WindowTask> task;
    std::function<void()> callback;
  };
  // The next chunk of a stage on this rank.
  struct Cursor {
    size_t task = 0;    // index in started_
    int64_t chunk = 0;  // chunk of the task
    uint64_t done = 0;  // number of chunks of all tasks so far
    uint64_t seen = 0;  // number of chunks that all ranks are known to have done
  };

  bool step(Stage stage);
  bool may_start(Stage stage);
  bool all_have_done(Stage stage, uint64_t chunks);
  uint64_t& counter(int rank, Stage stage) const;
  void finish_first();

  SharedSegments memory_;
  std::deque<Started> started_;
  std::array<Cursor, kStages> cursors_{};
  std::vector<std::byte*> slots_;  // slots of the chunk that a stage works on
};

}  // namespace gyre
