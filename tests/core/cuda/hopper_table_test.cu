// The instructions of core/cuda/hopper.h against exact sums of integers, for the shapes that kernels use. The same
// source runs on the emulated GPU, whose version of the instructions it checks, and on a GPU of compute capability 9.0,
// where it comes before any kernel that uses them: gpu_check.sh.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gyre/core/cuda/hopper.h"
#include "gyre/core/cuda/runtime/context.h"
#include "gyre/core/cuda/runtime/launch.h"
#include "gyre/core/cuda/tensor_core.h"
#include "tests/errors.h"
#include "tests/gpu.h"

namespace gyre::cuda {
namespace {

// Integers from -4 to 4, whose sums of products are exact in fp32.
std::vector<bfloat16> numbers(int64_t count, int seed) {
  std::vector<bfloat16> to(static_cast<size_t>(count));
  uint32_t state = uint32_t(seed) * 2654435761U + 12345;
  for (bfloat16& x : to) {
    state = state * 1664525U + 1013904223U;
    x = bfloat16(float(int(state >> 16) % 9 - 4));
  }
  return to;
}

template <class T>
class OnDevice {
 public:
  explicit OnDevice(size_t size) : size_(size), memory_(Context::of(0).allocate(size * sizeof(T))) {}
  explicit OnDevice(const std::vector<T>& from) : OnDevice(from.size()) {
    check(cudaMemcpyAsync(data(), from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice, Context::of(0).stream()),
          "cudaMemcpy");
  }
  T* data() const { return static_cast<T*>(memory_.get()); }
  std::vector<T> values() const {
    std::vector<T> to(size_);
    check(cudaMemcpyAsync(to.data(), data(), size_ * sizeof(T), cudaMemcpyDeviceToHost, Context::of(0).stream()),
          "cudaMemcpy");
    check(cudaStreamSynchronize(Context::of(0).stream()), "a kernel of the table");
    return to;
  }

 private:
  size_t size_;
  std::shared_ptr<void> memory_;
};

bool has_instructions() {
  if (!test_gpu()) return false;
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "cudaDeviceGetAttribute");
  if (major == 9 && minor == 0) return true;
  report_skipped(concat("instructions of compute capability 9.0: this GPU has ", major, '.', minor));
  return false;
}

template <int Chunks>
__device__ void store_sums(float* to, const float (&sums)[Chunks][4]) {
  const int warp = int(threadIdx.x) % kWarpgroup / 32, lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int j = 0; j < Chunks; ++j) {
    for (int c = 0; c < 4; ++c)
      to[(16 * warp + lane / 4 + c / 2 * 8) * 8 * Chunks + 8 * j + lane % 4 * 2 + c % 2] = sums[j][c];
  }
}

// Columns column .. column + 15 of the rows of this warp.
template <int Rows, int Width>
__device__ void load_registers(uint32_t (&to)[4], const SwizzledTile<Rows, Width>& tile, int column) {
  const int row = int(threadIdx.x) % kWarpgroup / 32 * 16 + int(threadIdx.x) % 32 / 4, t = int(threadIdx.x) % 4;
  for (int i = 0; i < 4; ++i)
    to[i] = *reinterpret_cast<const uint32_t*>(tile.at(row + i % 2 * 8, column + 2 * t + i / 2 * 8));
}

// Shared memory: a barrier, and the tiles from byte 1,024 on.
struct Memory {
  Barrier& loaded;
  bfloat16* tiles;
  __device__ Memory()
      : loaded(*reinterpret_cast<Barrier*>(tile_memory())), tiles(reinterpret_cast<bfloat16*>(tile_memory() + 1024)) {}
  // Waits until the copies that f begins, by one thread, have brought this number of bytes.
  template <class F>
  __device__ void load(int bytes, const F& f) const {
    if (threadIdx.x == 0) {
      loaded.init(1);
      fence_barriers();
      loaded.expect(bytes);
      f(loaded);
    }
    __syncthreads();
    loaded.wait(0);
  }
};

__global__ void write_address(uint32_t* to) { *to = shared_address(tile_memory()); }

// Copies a tile at this place of the map, and writes it row by row.
template <int Rows, int Width>
__global__ __launch_bounds__(128) void copy_tile(bfloat16* to, const __grid_constant__ TileMap from, int column,
                                                 int row) {
  const Memory memory;
  const SwizzledTile<Rows, Width> tile{memory.tiles};
  memory.load(tile.kBytes, [&](Barrier& loaded) { load_tile(tile, from, column, row, loaded); });
  for (int i = int(threadIdx.x); i < Rows * Width; i += int(blockDim.x)) to[i] = *tile.at(i / Width, i % Width);
}

// to(2, 64, N) = rows row .. row + 63 of x times the N rows of y, transposed, and the first 64 rows of y times y,
// transposed: two sums in a group of products. x has Rows rows; all rows have `Width` columns.
template <int Rows, int N, int Width>
__global__ __launch_bounds__(kWarpgroup) void multiply_k_major(float* to, const __grid_constant__ TileMap x,
                                                               const __grid_constant__ TileMap y, int row) {
  const Memory memory;
  const SwizzledTile<Rows, Width> a{memory.tiles};
  const SwizzledTile<N, Width> b{a.data + a.kElements};
  memory.load(a.kBytes + b.kBytes, [&](Barrier& loaded) {
    load_tile(a, x, 0, 0, loaded);
    load_tile(b, y, 0, 0, loaded);
  });
  float sums[N / 8][4], others[N / 8][4];
  fence_products();
#pragma unroll
  for (int k = 0; k < Width; k += 16) multiply(sums, a.k_major(row, k), b.k_major(0, k), k > 0);
#pragma unroll
  for (int k = 0; k < Width; k += 16) multiply(others, b.k_major(0, k), b.k_major(0, k), k > 0);
  commit_products();
  wait_products<0>(sums, others);
  store_sums(to, sums);
  store_sums(to + 64 * N, others);
}

// to(64, Width) = 3 x(64, Rows) y, for the Rows rows of y: the product, doubled in registers, plus the product.
template <int Rows, int Width>
__global__ __launch_bounds__(kWarpgroup) void multiply_mn_major(float* to, const __grid_constant__ TileMap x,
                                                                const __grid_constant__ TileMap y) {
  const Memory memory;
  const SwizzledTile<64, Rows> a{memory.tiles};
  const SwizzledTile<Rows, Width> b{a.data + a.kElements};
  memory.load(a.kBytes + b.kBytes, [&](Barrier& loaded) {
    load_tile(a, x, 0, 0, loaded);
    load_tile(b, y, 0, 0, loaded);
  });
  float sums[Width / 8][4];
  uint32_t left[Rows / 16][4];
#pragma unroll
  for (int k = 0; k < Rows; k += 16) load_registers(left[k / 16], a, k);
#pragma unroll
  for (int round = 0; round < 2; ++round) {
#pragma unroll
    for (int j = 0; round > 0 && j < Width / 8; ++j)
      for (int c = 0; c < 4; ++c) sums[j][c] *= 2;
    fence_products(sums, left);
#pragma unroll
    for (int k = 0; k < Rows; k += 16) multiply(sums, left[k / 16], b.mn_major(k), round > 0 || k > 0);
    commit_products();
    wait_products<0>(sums);
  }
  store_sums(to, sums);
}

constexpr int kStages = 2;

// Parts of add_tiles() that can be left out, each of which is a mistake that the emulator must report.
enum class Omit { nothing, wait, phase, arrival, bytes, fence, order, registers, release, patience, initialization };

// to(64, 64): the sum over all tiles of 64 rows and columns of x of the tile times itself, transposed, twice: by both
// warpgroups of consumers. A third warpgroup loads the tiles in stages; the consumers set the last rows to zero.
template <Omit omitted>
__global__ __launch_bounds__(3 * kWarpgroup, 1) void add_tiles(float* to, const __grid_constant__ TileMap x, int tiles,
                                                               int rows) {
  using Tile = SwizzledTile<64, 64>;
  Barrier* const full = reinterpret_cast<Barrier*>(tile_memory());
  Barrier* const empty = full + kStages;
  const auto stage = [&](int i) {
    return Tile{reinterpret_cast<bfloat16*>(tile_memory() + 1024) + i % kStages * Tile::kElements};
  };
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      full[i].init(1);
      empty[i].init(8);
    }
    if (omitted != Omit::initialization) fence_barriers();
  }
  __syncthreads();
  if (threadIdx.x < kWarpgroup) {
    shrink_registers<24>();
    if (threadIdx.x != 0) return;
    for (int i = 0; i < tiles; ++i) {
      if (omitted != Omit::release) empty[i % kStages].wait(i / kStages % 2 ^ (omitted == Omit::phase ? 0 : 1));
      full[i % kStages].expect(omitted == Omit::bytes ? Tile::kBytes / 2 : Tile::kBytes);
      load_tile(stage(i), x, 0, 64 * i, full[i % kStages]);
    }
    return;
  }
  grow_registers<240>();
  const int consumer = int(threadIdx.x) / kWarpgroup - 1, thread = int(threadIdx.x) % kWarpgroup;
  float sums[8][4];
  for (int i = 0; i < tiles; ++i) {
    const Tile tile = stage(i);
    if (omitted != Omit::wait) full[i % kStages].wait(i / kStages % 2);
    if (rows - 64 * i < 64) {
      for (int e = 8 * (2 * thread + consumer); e < 64 * 64; e += 8 * 256) {
        for (int l = 0; e / 64 >= rows - 64 * i && l < 8; ++l) *tile.at(e / 64, e % 64 + l) = bfloat16(0.0F);
      }
      if (omitted != Omit::fence) fence_async();
      if (omitted != Omit::order) named_barrier(1, 2 * kWarpgroup);
    }
    if (omitted != Omit::registers) fence_products(sums);
    for (int k = 0; k < 64; k += 16) multiply(sums, tile.k_major(0, k), tile.k_major(0, k), i > 0 || k > 0);
    commit_products();
    if (omitted == Omit::patience && thread % 32 == 0) empty[i % kStages].arrive();
    wait_products<0>(sums);
    if (omitted == Omit::patience) continue;
    if (thread % 32 == 0 && (omitted != Omit::arrival || thread > 0)) empty[i % kStages].arrive();
  }
  store_sums(to + consumer * 64 * 64, sums);
}

#ifndef __CUDACC__  // mistakes are for the emulated GPU

// Reads sums before the products are finished.
__global__ __launch_bounds__(kWarpgroup) void read_early(float* to, const __grid_constant__ TileMap x) {
  const Memory memory;
  const SwizzledTile<64, 64> a{memory.tiles};
  memory.load(a.kBytes, [&](Barrier& loaded) { load_tile(a, x, 0, 0, loaded); });
  float sums[2][8][4];
  fence_products();
  for (auto& one : sums) {
    multiply(one, a.k_major(0, 0), a.k_major(0, 0), false);
    commit_products();
  }
  wait_products<1>(sums[1]);
  wait_products<0>(sums[0]);
  store_sums(to, sums[1]);
}

#endif

template <class Kernel, class... A>
void run(Kernel kernel, int threads, size_t tile_bytes, const A&... arguments) {
  launch(kernel, dim3(1), dim3(unsigned(threads)), 1024 + tile_bytes, Context::of(0).stream(), arguments...);
}

// One element of the product of rows of x and rows of y, which have `width` columns.
float dot(const std::vector<bfloat16>& x, int64_t row, const std::vector<bfloat16>& y, int64_t other, int width) {
  float sum = 0;
  for (int k = 0; k < width; ++k) sum += float(x[size_t(row * width + k)]) * float(y[size_t(other * width + k)]);
  return sum;
}

template <int Rows, int Width>
void check_copies() {
  constexpr int kRows = 70, kColumns = 2 * Width + 8, kStride = kColumns + 8;
  const std::vector<bfloat16> x = numbers(kRows * kStride, Width);
  const OnDevice<bfloat16> from(x), to(Rows * Width);
  using Tile = SwizzledTile<Rows, Width>;
  const TileMap map = make_tile_map(from.data(), kRows, kColumns, kStride, Tile::kPanel, Rows);
  for (const int column : {0, 8, Width, kColumns - Width, kColumns - 8, kColumns, -8}) {
    for (const int row : {0, 3, kRows - Rows, kRows - 1, kRows, -5}) {
      run(copy_tile<Rows, Width>, 128, Tile::kBytes, to.data(), map, column, row);
      const std::vector<bfloat16> got = to.values();
      bool equal = true;
      for (int i = 0; i < Rows; ++i) {
        for (int j = 0; j < Width; ++j) {
          const int r = row + i, c = column + j;
          const bool inside = r >= 0 && r < kRows && c >= 0 && c < kColumns;
          equal &= float(got[size_t(i * Width + j)]) == (inside ? float(x[size_t(r * kStride + c)]) : 0);
        }
      }
      CAPTURE(Rows);
      CAPTURE(Width);
      CAPTURE(column);
      CAPTURE(row);
      CHECK(equal);
    }
  }
}

template <int Rows, int N, int Width>
void check_k_major(int row) {
  const std::vector<bfloat16> x = numbers(Rows * Width, 1), y = numbers(N * Width, 2);
  const OnDevice<bfloat16> a(x), b(y);
  const OnDevice<float> to(2 * 64 * N);
  constexpr int kPanel = SwizzledTile<64, Width>::kPanel;
  run(multiply_k_major<Rows, N, Width>, kWarpgroup, 2 * (Rows + N) * Width, to.data(),
      make_tile_map(a.data(), Rows, Width, Width, kPanel, Rows), make_tile_map(b.data(), N, Width, Width, kPanel, N),
      int(row));
  const std::vector<float> got = to.values();
  bool equal = true;
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < N; ++j) {
      equal &= got[size_t(i * N + j)] == dot(x, row + i, y, j, Width);
      equal &= got[size_t((64 + i) * N + j)] == dot(y, i, y, j, Width);
    }
  }
  CAPTURE(Rows);
  CAPTURE(N);
  CAPTURE(Width);
  CAPTURE(row);
  CHECK(equal);
}

template <int Rows, int Width>
void check_mn_major() {
  const std::vector<bfloat16> x = numbers(64 * Rows, 3), y = numbers(Rows * Width, 4);
  const OnDevice<bfloat16> a(x), b(y);
  const OnDevice<float> to(64 * Width);
  constexpr int kPanel = SwizzledTile<64, Width>::kPanel;
  run(multiply_mn_major<Rows, Width>, kWarpgroup, 2 * Rows * (64 + Width), to.data(),
      make_tile_map(a.data(), 64, Rows, Rows, 64, 64), make_tile_map(b.data(), Rows, Width, Width, kPanel, Rows));
  const std::vector<float> got = to.values();
  bool equal = true;
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < Width; ++j) {
      float sum = 0;
      for (int k = 0; k < Rows; ++k) sum += float(x[size_t(i * Rows + k)]) * float(y[size_t(k * Width + j)]);
      equal &= got[size_t(i * Width + j)] == 3 * sum;
    }
  }
  CAPTURE(Rows);
  CAPTURE(Width);
  CHECK(equal);
}

struct TilesToAdd {
  static constexpr int kTiles = 5, kRows = 4 * 64 + 23;
  std::vector<bfloat16> x = numbers((kRows + 64) * 64, 5);  // rows of a neighbor behind the last one
  OnDevice<bfloat16> from{x};
  OnDevice<float> to{2 * 64 * 64};
  template <Omit omitted>
  void run() const {
    cuda::run(add_tiles<omitted>, 3 * kWarpgroup, kStages * SwizzledTile<64, 64>::kBytes, to.data(),
              make_tile_map(from.data(), kRows + 64, 64, 64, 64, 64), int(kTiles), int(kRows));
  }
};

}  // namespace

TEST_CASE("tiles begin at multiples of 1,024 bytes") {
  if (!has_instructions()) return;
  const OnDevice<uint32_t> to(1);
  run(write_address, 1, 0, to.data());
  CHECK(to.values()[0] % 1024 == 0);
}

TEST_CASE("copies of tiles") {
  if (!has_instructions()) return;
  check_copies<64, 32>();
  check_copies<64, 64>();
  check_copies<64, 128>();
  check_copies<128, 32>();
  check_copies<128, 64>();
  check_copies<128, 128>();
}

TEST_CASE("products of K-major operands") {
  if (!has_instructions()) return;
  for (const int row : {0, 64}) {
    check_k_major<128, 64, 32>(row);
    check_k_major<128, 128, 32>(row);
    check_k_major<128, 64, 64>(row);
    check_k_major<128, 128, 64>(row);
    check_k_major<128, 64, 128>(row);
  }
}

TEST_CASE("products of registers and MN-major operands") {
  if (!has_instructions()) return;
  check_mn_major<64, 32>();
  check_mn_major<64, 64>();
  check_mn_major<64, 128>();
  check_mn_major<128, 32>();
  check_mn_major<128, 64>();
  check_mn_major<128, 128>();
}

TEST_CASE("stages of tiles between warpgroups") {
  if (!has_instructions()) return;
  const TilesToAdd tiles;
  tiles.run<Omit::nothing>();
  const std::vector<float> got = tiles.to.values();
  bool equal = true;
  for (int64_t i = 0; i < 64; ++i) {
    for (int64_t j = 0; j < 64; ++j) {
      float sum = 0;
      for (int tile = 0; tile < TilesToAdd::kTiles; ++tile) {
        const int64_t row = 64 * tile + i, other = 64 * tile + j;
        if (row < TilesToAdd::kRows && other < TilesToAdd::kRows) sum += dot(tiles.x, row, tiles.x, other, 64);
      }
      for (int64_t consumer = 0; consumer < 2; ++consumer) equal &= got[size_t((consumer * 64 + i) * 64 + j)] == sum;
    }
  }
  CHECK(equal);
}

#ifndef __CUDACC__
TEST_CASE("mistakes with asynchronous instructions are reported") {
  const TilesToAdd tiles;
  const auto error_after = [](const auto& queue) {
    return error_of([&] {
      queue();
      check(cudaStreamSynchronize(Context::of(0).stream()), "a kernel of the table");
    });
  };
  const auto mistake = [&](auto omitted) { return error_after([&] { tiles.run<omitted()>(); }); };
  const auto check_contains = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(contains(text, part));
  };
  using enum Omit;
  check_contains(mistake(std::integral_constant<Omit, wait>()), "race on shared memory");
  check_contains(mistake(std::integral_constant<Omit, phase>()), " 1 threads wait for a phase of parity 0 of mbarrier");
  check_contains(mistake(std::integral_constant<Omit, arrival>()), "misses 2 arrivals and 0 bytes");
  check_contains(mistake(std::integral_constant<Omit, bytes>()), "misses 0 arrivals and -4096 bytes");
  check_contains(mistake(std::integral_constant<Omit, fence>()), "without fence.proxy.async by that thread in between");
  check_contains(mistake(std::integral_constant<Omit, order>()),
                 "race on shared memory: a product of this warp reads a byte");
  check_contains(mistake(std::integral_constant<Omit, registers>()), "no wgmma.fence");
  check_contains(mistake(std::integral_constant<Omit, release>()), "more threads arrive than it counts");
  check_contains(mistake(std::integral_constant<Omit, patience>()), "an asynchronous copy writes a byte that");
  check_contains(mistake(std::integral_constant<Omit, initialization>()), "no fence.mbarrier_init after");
  const OnDevice<float> to(64 * 64);
  check_contains(error_after([&] {
                   run(read_early, kWarpgroup, SwizzledTile<64, 64>::kBytes, to.data(),
                       make_tile_map(tiles.from.data(), 64, 64, 64, 64, 64));
                 }),
                 "the sums are not finished after this wait");
}
#endif

}  // namespace gyre::cuda
