#include "tests/cuda_emulation/hopper.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tests/cuda_emulation/accesses/accesses.h"
#include "tests/cuda_emulation/report.h"

namespace cuda_emulation {
namespace {

using Kind = WarpOperation::Kind;

constexpr size_t kChunk = 16;  // bytes that swizzling keeps together
constexpr int kDepth = 16;     // columns of the left operand of a product

// Address bits 4 to 6, or 4 and 5, are flipped by bits 7 to 9, or 7 and 8.
size_t swizzled(size_t offset, size_t pattern) { return offset ^ (offset >> 3 & (pattern - kChunk)); }

float number_at(const std::byte* data) {
  uint16_t bits;
  std::memcpy(&bits, data, sizeof(bits));
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

// An operand of a product in shared memory.
struct Decoded {
  size_t start, panels, rows8, pattern;  // offset in shared memory; distances of panels and of 8 rows; all in bytes
  explicit Decoded(uint64_t bits)
      : start((bits & 0x3FFF) << 4),
        panels((bits >> 16 & 0x3FFF) << 4),
        rows8((bits >> 32 & 0x3FFF) << 4),
        pattern(bits >> 62 == 1 ? 128 : 64) {}
  static bool is_valid(uint64_t bits) {
    const uint64_t mode = bits >> 62, rest = bits & ~(0x3FFFULL | 0x3FFFULL << 16 | 0x3FFFULL << 32 | 3ULL << 62);
    return (mode == 1 || mode == 2) && rest == 0;
  }
  bool begins_group() const { return start % (8 * pattern) < pattern; }
  // Offset of element (row, column) of the tile.
  size_t at(size_t row, size_t column) const {
    const size_t panel = pattern / 2;  // columns
    return swizzled(start + row / 8 * rows8 + row % 8 * pattern + column / panel * panels + column % panel * 2,
                    pattern);
  }
};

std::string hex(uint64_t x) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(x));
  return text;
}

}  // namespace

void Hopper::begin_block(size_t warps) {
  barriers_.clear();
  copies_.clear();
  warps_.assign(warps, {});
}

std::string Hopper::end_block() const {
  if (!copies_.empty()) return "the kernel ends before a copy by TMA is complete";
  for (const auto& [address, barrier] : barriers_) {
    if (barrier.bytes > 0)
      return "the kernel ends, and " + std::to_string(barrier.bytes) +
             " bytes that an mbarrier expects were not copied";
    if (barrier.bytes < 0)
      return "the kernel ends, and " + std::to_string(-barrier.bytes) +
             " bytes more than an mbarrier expects were copied";
  }
  for (size_t i = 0; i < warps_.size(); ++i) {
    if (!warps_[i].open.empty() || !warps_[i].committed.empty())
      return "wgmma: the kernel ends without waiting for products";
    if (warps_[i].calls.size() != warps_[i / 4 * 4].calls.size())
      return "wgmma: the warps of a warpgroup called different numbers of products";
  }
  return "";
}

// ---- Barriers ------------------------------------------------------------------------------------------------------

std::string Hopper::init(void* barrier, int arrivals) {
  if (!shared_.contains(barrier, sizeof(uint64_t)) || reinterpret_cast<uintptr_t>(barrier) % sizeof(uint64_t) != 0)
    return "mbarrier: not at a multiple of 8 bytes in shared memory";
  if (arrivals < 1) return "mbarrier: no arrivals";
  const int number = int(barriers_.size());
  if (number == kMostBarriers) return "mbarrier: the emulator knows only " + std::to_string(kMostBarriers);
  const bool is_new = barriers_.insert({barrier, {number, arrivals, arrivals, 0, 0, false, {}, {}}}).second;
  return is_new ? "" : "mbarrier: initialized twice";
}

void Hopper::fence_barriers() {
  for (auto& [address, barrier] : barriers_) barrier.fenced = true;
}

BlockBarrier* Hopper::find(const void* barrier) {
  const auto found = barriers_.find(barrier);
  return found == barriers_.end() ? nullptr : &found->second;
}

std::string Hopper::arrive(void* barrier, int bytes) {
  BlockBarrier* state = find(barrier);
  if (!state) return "mbarrier: it is not initialized";
  if (state->pending == 0) return "mbarrier: more threads arrive than it counts, " + std::to_string(state->arrivals);
  release(state->now);
  state->bytes += bytes;
  --state->pending;
  end_phase(*state);
  return "";
}

void Hopper::end_phase(BlockBarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.ended[barrier.phase & 1] = barrier.now;
  barrier.pending = barrier.arrivals;
  ++barrier.phase;
}

// ---- Copies --------------------------------------------------------------------------------------------------------

std::string Hopper::begin_copy(void* to, const CUtensorMap& from, int column, int row, void* barrier) {
  Copy copy{static_cast<std::byte*>(to), {}, column, row, find(barrier), {}};
  std::memcpy(&copy.from, &from, sizeof(copy.from));
  const TileDescription& tile = copy.from;
  if (!copy.barrier) return "TMA: the barrier is not initialized";
  if (!copy.barrier->fenced) return "TMA: no fence.mbarrier_init after the initialization of the barrier";
  const size_t width = tile.panel * 2, bytes = width * tile.tile_rows;
  if (!shared_.contains(to, bytes)) return "TMA: the destination is outside of the block's shared memory";
  if ((copy.to - shared_.dynamic()) % 1024 != 0) return "TMA: the destination is not at a multiple of 1,024 bytes";
  const int64_t first = std::max<int64_t>(column, 0), last = std::min<int64_t>(column + int(tile.panel), tile.columns);
  for (int64_t i = std::max(row, 0); first < last && i < std::min<int64_t>(row + int(tile.tile_rows), tile.rows); ++i) {
    note_read(tile.data + i * int64_t(tile.stride) + 2 * first, size_t(2 * (last - first)), nullptr);
  }
  copy.start = cuda_emulation::begin_copy();
  copies_.push_back(std::move(copy));
  return "";
}

Hopper::Landed Hopper::land_copy() {
  const size_t chosen = any_below(copies_.size());
  const Copy copy = std::move(copies_[chosen]);
  copies_.erase(copies_.begin() + ptrdiff_t(chosen));
  return {copy_panel(copy), copy.start.thread};
}

std::string Hopper::copy_panel(const Copy& copy) {
  const TileDescription& tile = copy.from;
  const size_t width = tile.panel * 2, start = size_t(copy.to - shared_.dynamic());
  for (uint32_t i = 0; i < tile.tile_rows; ++i) {
    for (size_t at = 0; at < width; at += kChunk) {
      std::byte* to = shared_.dynamic() + swizzled(start + i * width + at, tile.swizzled);
      const std::string problem = check_copy(copy.start, copy.barrier->number, copy.barrier->phase + 1, to, kChunk);
      if (!problem.empty()) return problem;
      const int64_t row = copy.row + int64_t(i), column = copy.column + int64_t(at) / 2;
      for (int64_t element = 0; element < int64_t(kChunk) / 2; ++element) {
        const bool inside =
            row >= 0 && row < int64_t(tile.rows) && column + element >= 0 && column + element < int64_t(tile.columns);
        const std::byte* from = tile.data + row * int64_t(tile.stride) + 2 * (column + element);
        if (inside) std::memcpy(to + 2 * element, from, 2);
        if (!inside) std::memset(to + 2 * element, 0, 2);
      }
    }
  }
  copy.barrier->bytes -= int64_t(width) * tile.tile_rows;
  add_copies(copy.barrier->now, copy.barrier->number, copy.barrier->phase + 1);
  end_phase(*copy.barrier);
  return "";
}

// ---- Products ------------------------------------------------------------------------------------------------------

std::string Hopper::perform(int index, const WarpOperations& lanes) {
  Warp& warp = warps_[size_t(index)];
  const WarpOperation& call = *lanes[0];
  switch (call.kind) {
    case Kind::multiply_async:
      return begin_product(index, lanes);
    case Kind::fence_products:
      warp.needs_fence = false;
      return "";
    case Kind::commit_products:
      warp.committed.push_back(std::exchange(warp.open, {}));
      ++warp.groups;
      return "";
    default:
      break;
  }
  if (!warp.open.empty()) return "wgmma.wait_group: products are not committed";
  if (const std::string problem = finish(warp, index, size_t(call.groups)); !problem.empty()) return problem;
  warp.needs_fence = true;
  for (size_t i = 0; i < call.count; ++i) {
    for (const auto& group : warp.committed) {
      for (const Product& product : group) {
        if (product.d[0] == call.finished[i]) return "wgmma.wait_group: the sums are not finished after this wait";
      }
    }
  }
  return "";
}

std::string Hopper::begin_product(int index, const WarpOperations& lanes) {
  Warp& warp = warps_[size_t(index)];
  const AsyncProduct& call = *lanes[0]->product;
  if (warp.needs_fence) return "wgmma: no wgmma.fence since the registers could be written";
  if ((!call.a && !Decoded::is_valid(call.a_operand)) || !Decoded::is_valid(call.b_operand))
    return "wgmma: an invalid operand: " + hex(call.a_operand) + ", " + hex(call.b_operand);
  Product product{call.a_operand, call.b_operand, call.columns, call.keep, call.a != nullptr, {}, {}, {}, {}};
  for (size_t lane = 0; lane < kWarp; ++lane) {
    const AsyncProduct& own = *lanes[lane]->product;
    if (own.a_operand != call.a_operand || own.b_operand != call.b_operand || own.keep != call.keep)
      return "wgmma: the lanes give different operands";
    product.d[lane] = own.d;
    product.registers[lane] = own.a;
    if (own.a) std::copy_n(own.a, 4, product.a[lane]);
  }
  warp.calls.push_back(place(lanes[0]->at) + ' ' + hex(call.a_operand) + ' ' + hex(call.b_operand) + ' ' +
                       std::to_string(call.keep));
  for (size_t other = size_t(index) / 4 * 4; other < std::min(warps_.size(), size_t(index) / 4 * 4 + 4); ++other) {
    const std::vector<std::string>& calls = warps_[other].calls;
    if (calls.size() >= warp.calls.size() && calls[warp.calls.size() - 1] != warp.calls.back())
      return "wgmma: the warps of a warpgroup call different products";
  }
  if (size_t(index) / 4 * 4 + 4 > warps_.size()) return "wgmma: the last warpgroup has fewer than four warps";
  if ((!call.a && !Decoded(call.a_operand).begins_group()) || !Decoded(call.b_operand).begins_group())
    return "wgmma: an operand does not begin at a group of 8 rows";
  if (std::string problem = check_reads(index, product); !problem.empty()) return problem;
  const auto uses_sums = [&](const Product& other) { return other.d[0] == product.d[0]; };
  bool pending = std::any_of(warp.open.begin(), warp.open.end(), uses_sums);
  for (const auto& group : warp.committed) pending |= std::any_of(group.begin(), group.end(), uses_sums);
  if (!pending) {
    for (float* d : product.d) {
      product.before.insert(product.before.end(), d, d + product.columns / 2);
      std::fill_n(d, product.columns / 2, std::numeric_limits<float>::quiet_NaN());
    }
  }
  warp.open.push_back(std::move(product));
  return "";
}

// Calls f(offset, row, column) for each chunk of `rows` rows, or of the columns of 16 rows, until it returns a mistake.
template <class F>
std::string Hopper::for_chunks(uint64_t operand, bool mn_major, int rows, const F& f) const {
  const Decoded tile(operand);
  const int last_row = mn_major ? kDepth : rows, last_column = mn_major ? rows : kDepth;
  for (int row = 0; row < last_row; ++row) {
    for (int column = 0; column < last_column; column += int(kChunk) / 2) {
      if (std::string problem = f(tile.at(size_t(row), size_t(column)), row, column); !problem.empty()) return problem;
    }
  }
  return "";
}

std::string Hopper::check_reads(int index, const Product& product) const {
  const uint32_t group = warps_[size_t(index)].groups + 1;
  const auto check = [&](size_t offset, int, int) -> std::string {
    const std::byte* data = shared_.dynamic() + offset;
    if (!shared_.contains(data, kChunk)) return "wgmma: an operand is outside of the block's shared memory";
    return check_product_read(group, data, kChunk);
  };
  std::string problem;
  if (!product.in_registers) {
    const auto check_own = [&](size_t offset, int row, int column) {
      return row / 16 == index % 4 ? check(offset, row, column) : "";
    };
    problem = for_chunks(product.a_operand, false, 64, check_own);
  }
  return problem.empty() ? for_chunks(product.b_operand, product.in_registers, product.columns, check) : problem;
}

std::string Hopper::finish(Warp& warp, int index, size_t groups) {
  while (warp.committed.size() > groups) {
    for (Product& product : warp.committed.front()) {
      if (std::string problem = multiply(index, product); !problem.empty()) return problem;
    }
    warp.committed.erase(warp.committed.begin());
  }
  finish_products(index, uint32_t(warp.groups - warp.committed.size()));
  return "";
}

std::string Hopper::multiply(int index, Product& product) const {
  const size_t count = size_t(product.columns) / 2;  // sums of a lane
  if (!product.before.empty()) {
    for (size_t lane = 0; lane < kWarp; ++lane) {
      if (!std::all_of(product.d[lane], product.d[lane] + count, [](float x) { return std::isnan(x); }))
        return "wgmma: sums were written before the product was finished";
      std::copy_n(product.before.begin() + ptrdiff_t(lane * count), count, product.d[lane]);
    }
  }
  float a[16][kDepth], b[kDepth][128];
  if (product.in_registers) {
    for (int lane = 0; lane < kWarp; ++lane) {
      if (!std::equal(product.a[lane], product.a[lane] + 4, product.registers[lane]))
        return "wgmma: the left operand was written before the product was finished";
      for (int r = 0; r < 4; ++r) {
        for (int half = 0; half < 2; ++half) {
          const uint32_t word = product.a[lane][r];
          a[lane / 4 + 8 * (r % 2)][lane % 4 * 2 + 8 * (r / 2) + half] =
              std::bit_cast<float>(half ? word & 0xFFFF0000 : word << 16);
        }
      }
    }
  } else {
    for_chunks(product.a_operand, false, 64, [&](size_t offset, int row, int column) {
      for (int i = 0; row / 16 == index % 4 && i < 8; ++i)
        a[row % 16][column + i] = number_at(shared_.dynamic() + offset + 2 * i);
      return "";
    });
  }
  for_chunks(product.b_operand, product.in_registers, product.columns, [&](size_t offset, int row, int column) {
    for (int i = 0; i < 8; ++i) {
      const float x = number_at(shared_.dynamic() + offset + 2 * i);
      (product.in_registers ? b[row][column + i] : b[column + i][row]) = x;
    }
    return "";
  });
  for (int row = 0; row < 16; ++row) {
    float sums[128] = {};
    for (int k = 0; k < kDepth; ++k) {
      for (int column = 0; column < product.columns; ++column) sums[column] += a[row][k] * b[k][column];
    }
    for (int column = 0; column < product.columns; ++column) {
      float& d = product.d[row % 8 * 4 + column % 8 / 2][column / 8 * 4 + row / 8 * 2 + column % 2];
      d = product.keep ? d + sums[column] : sums[column];
    }
  }
  return "";
}

}  // namespace cuda_emulation

// ---- The driver ----------------------------------------------------------------------------------------------------

namespace {

CUresult encode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data, const cuuint64_t* sizes,
                const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps, CUtensorMapInterleave,
                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  const uint32_t pattern = swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 128 : 64;
  const bool valid = type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 && rank == 2 && steps[0] == 1 && steps[1] == 1 &&
                     reinterpret_cast<uintptr_t>(data) % 16 == 0 && strides[0] % 16 == 0 && sizes[0] > 0 &&
                     sizes[1] > 0 && box[0] * 2 == pattern && box[1] >= 1 && box[1] <= 256;
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  const cuda_emulation::TileDescription tile{
      static_cast<const std::byte*>(data), sizes[0], sizes[1], strides[0], box[0], box[1], pattern};
  std::memcpy(map, &tile, sizeof(tile));
  return CUDA_SUCCESS;
}

}  // namespace

cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *function = reinterpret_cast<void*>(&encode);
  *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}
