// The asynchronous parts of compute capability 9.0 in a block: barriers in shared memory, copies by TMA, and products
// of warpgroups, after the PTX ISA 9.0, sections 9.7.13.15 (mbarrier), 9.7.9.27 (cp.async.bulk.tensor), 5.5.6
// (swizzling), and 9.7.15 (wgmma).
//
// Copies and products happen as late as CUDA allows, or in builds that run in a random order at any time: a copy when
// no thread can run, a product when its warp waits for it. Until then its sums are NaN.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cuda_emulation/hooks.h"
#include "tests/cuda_emulation/accesses/shared_races.h"
#include "tests/cuda_emulation/shared_memory.h"
#include "tests/cuda_emulation/warp.h"

namespace cuda_emulation {

// Description of rows for copies, in the place of the driver's CUtensorMap.
struct TileDescription {
  const std::byte* data;
  uint64_t columns, rows, stride;  // stride: bytes from row to row
  uint32_t panel, tile_rows;       // columns and rows of a copy
  uint32_t swizzled;               // bytes of the pattern: 128 or 64
};

// A barrier in shared memory. Phases are numbered from 0.
struct BlockBarrier {
  int number;           // in the order of initialization
  int arrivals;         // of a phase
  int pending;          // arrivals that are missing
  int64_t bytes;        // that are expected and not copied
  unsigned phase;       // that is not complete
  bool fenced;          // since its initialization
  Clock now, ended[2];  // what has happened before the end of this phase, and of the last ones with each parity
};

class Hopper {
 public:
  explicit Hopper(SharedMemory& shared) : shared_(shared) {}
  void begin_block(size_t warps);
  std::string end_block() const;  // what the kernel has not waited for, or ""

  // ---- Barriers and copies. Functions that return a string return the mistake, or "". ----
  std::string init(void* barrier, int arrivals);
  void fence_barriers();
  std::string arrive(void* barrier, int bytes);
  BlockBarrier* find(const void* barrier);  // null: it is not initialized
  static bool has_ended(const BlockBarrier& barrier, int parity) { return int(barrier.phase & 1) != parity; }
  std::string begin_copy(void* to, const CUtensorMap& from, int column, int row, void* barrier);
  bool has_copies() const { return !copies_.empty(); }
  struct Landed {
    std::string problem;
    int thread;  // that began the copy
  };
  Landed land_copy();  // one of those that are pending

  // ---- Products, by all lanes of a warp. ----
  std::string perform(int warp, const WarpOperations& lanes);

 private:
  struct Copy {
    std::byte* to;
    TileDescription from;
    int column, row;
    BlockBarrier* barrier;
    CopyStart start;
  };
  struct Product {
    uint64_t a_operand, b_operand;
    int columns;
    bool keep, in_registers;
    float* d[kWarp];
    const uint32_t* registers[kWarp];  // of a, which must not change before the product is finished
    uint32_t a[kWarp][4];
    std::vector<float> before;  // sums of all lanes before the product, if no earlier product is pending on them
  };
  struct Warp {
    std::vector<std::vector<Product>> committed;
    std::vector<Product> open;
    uint32_t groups = 0;             // committed so far
    bool needs_fence = true;         // registers may have been written since the last fence
    std::vector<std::string> calls;  // of products, which the four warps of a warpgroup must share
  };

  void end_phase(BlockBarrier& barrier);
  std::string copy_panel(const Copy& copy);
  std::string begin_product(int warp, const WarpOperations& lanes);
  std::string finish(Warp& warp, int index, size_t groups);
  std::string multiply(int warp, Product& product) const;
  std::string check_reads(int warp, const Product& product) const;
  template <class F>
  std::string for_chunks(uint64_t operand, bool mn_major, int rows, const F& f) const;

  SharedMemory& shared_;
  std::map<const void*, BlockBarrier> barriers_;
  std::vector<Copy> copies_;
  std::vector<Warp> warps_;
};

}  // namespace cuda_emulation
