// Matrix product by the algorithm of Goto & van de Geijn (2008, "Anatomy of high-performance matrix multiplication"):
// both operands are packed into panels, and an inner kernel keeps one tile of C in registers.
//
// One side of C, usually the longer one (kRowsPerColumn of the tiles), is split into jobs, and each job packs its part
// of the operand of that side. All threads together pack the other operand, once.
#include "gyre/core/cpu/gemm/gemm.h"

#include <omp.h>

#include "gyre/core/cpu/gemm/amx_tile.h"
#include "gyre/core/cpu/gemm/blas_product.h"
#include "gyre/core/cpu/gemm/few_rows.h"
#include "gyre/core/cpu/gemm/gemm_tile.h"
#include "gyre/core/kernels/amx.h"
#include "gyre/core/memory.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// Block size along the summed index: a panel of B and a job's part of A fit into the second-level cache together.
constexpr int64_t kSummedBlock = 1024;
// Maximum number of packed elements of a job, and of elements in a block of C. They are chosen for a second-level cache
// of 1 MB, half of it for each.
constexpr int64_t kJobElements = int64_t{1} << 17;
constexpr int64_t kBlockElements = int64_t{1} << 16;
// Maximum number of elements of the shared packed operand. A larger product runs in stages along the summed index, with
// a barrier between them.
constexpr int64_t kSharedElements = int64_t{1} << 19;

// One call of gemm(): packs the operands and loops over the blocks of C. Tile: RegisterTile or AmxTile.
template <class Tile>
class Product {
  using T = typename Tile::Element;

 public:
  Product(const ProductShape& shape, const Operand& a, const Operand& b, const Sums<T>& sums, const Finish<T>& finish)
      : shape_(shape), a_(a), b_(b), sums_(sums), finish_(finish) {
    row_panels_ = count_panels(shape.m, Tile::kRows);
    column_panels_ = count_panels(shape.n, Tile::kColumns);
    threads_ = shape.m * shape.n * shape.k > kWorthThreads && !omp_in_parallel() ? omp_get_max_threads() : 1;
    const bool has_rows_for_all = row_panels_ >= std::min<int64_t>(threads_, column_panels_);
    by_rows_ = double(shape.m) >= Tile::kRowsPerColumn * double(shape.n) && has_rows_for_all;
    plan_jobs();
  }

  void run() {
    const int64_t panels = by_rows_ ? column_panels_ : row_panels_;
    const int64_t width = by_rows_ ? Tile::kColumns : Tile::kRows, block = panels * width * depth();
    const int64_t blocks = std::max<int64_t>(1, kSharedElements / std::max<int64_t>(1, block));  // count per stage
    const int64_t stage = std::clamp<int64_t>(shape_.k, 1, blocks * kSummedBlock);
    const Memory shared((stage + kSummedBlock - 1) / kSummedBlock * block), own(threads_ * own_elements());
    const bool detour = !sums_.c && shape_.k > kSummedBlock;  // sums over several blocks need a buffer if there is no C
    const std::shared_ptr<void> place = detour ? allocate(size_t(shape_.m * shape_.n) * sizeof(Compute<T>)) : nullptr;
    if (detour) sums_ = {static_cast<Compute<T>*>(place.get()), shape_.n, false};
#pragma omp parallel num_threads(threads_)
    {
      [[maybe_unused]] const typename Tile::Scope scope;
      Packed<T>* mine = own.data + omp_get_thread_num() * own_elements();
      for (int64_t begin = 0; begin == 0 || begin < shape_.k; begin += stage) {
        const int64_t end = std::min(shape_.k, begin + stage);
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < panels; panel += kPackTogether) {
          for_each_block(begin, end, [&](int64_t index, const Summed& s) {
            Packed<T>* to = shared.data + index * block + panel * width * Tile::packed(s.count);
            const int64_t count = std::min(kPackTogether, panels - panel);
            by_rows_ ? pack_columns(to, panel, count, s) : pack_rows(to, panel, count, s);
          });
        }
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < jobs_; ++i) {
          const int64_t job = by_rows_ && sums_.lower_triangle ? jobs_ - 1 - i : i;  // the largest of a triangle first
          for_each_block(begin, end, [&](int64_t index, const Summed& s) {
            const Packed<T>* packed_panels = shared.data + index * block;
            by_rows_ ? run_rows(job, packed_panels, mine, s) : run_columns(job, packed_panels, mine, s);
          });
        }
      }
    }
  }

 private:
  static constexpr int64_t kWorthThreads = 1 << 19;  // multiply-adds
  static constexpr int64_t kPackTogether = 4;        // panels
  static constexpr int64_t kUnequalJobs = 4;         // jobs of a triangle, per thread

  struct Summed {
    int64_t begin, count;
    int64_t end() const { return begin + count; }
  };

  // Memory for packed panels.
  struct Memory {
    std::shared_ptr<void> owner;
    Packed<T>* data;
    explicit Memory(int64_t elements)
        : owner(allocate(size_t(elements) * sizeof(Packed<T>))), data(static_cast<Packed<T>*>(owner.get())) {}
  };

  // Calls f(index, block) for the blocks of the summed range [begin, end). An empty range has one empty block.
  template <class F>
  static void for_each_block(int64_t begin, int64_t end, F&& f) {
    for (int64_t p = begin, index = 0; p == begin || p < end; p += kSummedBlock, ++index) {
      f(index, Summed{p, std::min(kSummedBlock, end - p)});
    }
  }

  static int64_t count_panels(int64_t n, int64_t width) { return (n + width - 1) / width; }

  // Maximum number of packed elements of a panel along the summed index.
  int64_t depth() const { return Tile::packed(std::min(shape_.k, kSummedBlock)); }

  // Splits one side into jobs of whole panels; their number is a multiple of the threads if possible.
  void plan_jobs() {
    const int64_t count = by_rows_ ? row_panels_ : column_panels_, width = by_rows_ ? Tile::kRows : Tile::kColumns;
    const int64_t most = std::max<int64_t>(1, by_rows_ ? kJobElements / std::max<int64_t>(1, width * depth())
                                                       : kBlockElements / std::max<int64_t>(1, width * shape_.m));
    // Jobs of a triangle differ in size. The largest runs first.
    const int64_t least = sums_.lower_triangle && threads_ > 1 ? kUnequalJobs * threads_ : 1;
    const int64_t wanted = std::max(least, (count + most - 1) / most);
    const int64_t jobs = (wanted + threads_ - 1) / threads_ * threads_;
    jobs_ = std::min(jobs, count);
    panels_per_job_ = (count + jobs_ - 1) / jobs_;
    panels_per_block_ =
        std::max<int64_t>(1, kBlockElements / (Tile::kColumns * std::max<int64_t>(1, panels_per_job_ * Tile::kRows)));
  }

  // First panel of a job. The sizes of jobs differ by at most one panel.
  int64_t job_begin(int64_t job) const { return job * (by_rows_ ? row_panels_ : column_panels_) / jobs_; }

  // Memory of one thread: the packed elements of its job, followed by a block of sums.
  int64_t panel_elements() const {
    return round_up(by_rows_ ? panels_per_job_ * Tile::kRows * depth() : Tile::kColumns * depth(), 64);
  }
  int64_t own_elements() const {
    const int64_t block = by_rows_ ? panels_per_job_ * Tile::kRows * panels_per_block_ * Tile::kColumns
                                   : row_panels_ * Tile::kRows * panels_per_job_ * Tile::kColumns;
    return round_up(panel_elements() + (sums_.c ? 0 : block), 64);
  }

  int64_t rows_of(int64_t panel) const { return std::min<int64_t>(Tile::kRows, shape_.m - panel * Tile::kRows); }
  int64_t columns_of(int64_t panel) const {
    return std::min<int64_t>(Tile::kColumns, shape_.n - panel * Tile::kColumns);
  }

  void pack_rows(Packed<T>* to, int64_t begin, int64_t count, const Summed& s) const {
    Tile::pack_rows(to, a_, shape_.m, begin, count, s.begin, s.count);
  }
  void pack_columns(Packed<T>* to, int64_t begin, int64_t count, const Summed& s) const {
    Tile::pack_columns(to, b_, shape_.n, begin, count, s.begin, s.count);
  }

  // Destination of the sums of a block: C, or scratch memory.
  Sums<T> sums_of(const Block& block, Packed<T>* mine, const Summed& s) const {
    if (sums_.c) {
      return {sums_.c + block.row * sums_.ldc + block.column, sums_.ldc, sums_.accumulate || s.begin > 0};
    }
    return {reinterpret_cast<Compute<T>*>(mine + panel_elements()), block.columns, false};
  }

  void multiply(const Sums<T>& to, const Block& block, int64_t row_panel, int64_t column_panel, const Packed<T>* a,
                const Packed<T>* b, const Summed& s) const {
    if (sums_.lower_triangle && row_panel * Tile::kRows + rows_of(row_panel) <= column_panel * Tile::kColumns) return;
    Compute<T>* c =
        to.c + (row_panel * Tile::kRows - block.row) * to.ldc + column_panel * Tile::kColumns - block.column;
    Tile::multiply(c, to.ldc, rows_of(row_panel), columns_of(column_panel), a, b, Tile::packed(s.count), to.accumulate);
  }

  // Multiplies the row panels of a job by all columns, one block of columns at a time.
  void run_rows(int64_t job, const Packed<T>* shared, Packed<T>* mine, const Summed& s) const {
    const int64_t begin = job_begin(job), end = job_begin(job + 1);
    const int64_t depth = Tile::packed(s.count);
    pack_rows(mine, begin, end - begin, s);
    const int64_t row = begin * Tile::kRows, rows = std::min(shape_.m, end * Tile::kRows) - row;
    for (int64_t first = 0; first < column_panels_; first += panels_per_block_) {
      const int64_t last = std::min(column_panels_, first + panels_per_block_), column = first * Tile::kColumns;
      const Block block{row, rows, column, std::min(shape_.n, last * Tile::kColumns) - column};
      const Sums<T> to = sums_of(block, mine, s);
      for (int64_t c = first; c < last; ++c) {
        for (int64_t r = begin; r < end; ++r) {
          multiply(to, block, r, c, mine + (r - begin) * Tile::kRows * depth, shared + c * Tile::kColumns * depth, s);
        }
      }
      if (finish_ && s.end() == shape_.k) finish_(to.c, to.ldc, block);
    }
  }

  // Multiplies all rows by the column panels of a job.
  void run_columns(int64_t job, const Packed<T>* shared, Packed<T>* mine, const Summed& s) const {
    const int64_t begin = job_begin(job), end = job_begin(job + 1);
    const int64_t column = begin * Tile::kColumns, depth = Tile::packed(s.count);
    const Block block{0, shape_.m, column, std::min(shape_.n, end * Tile::kColumns) - column};
    const Sums<T> to = sums_of(block, mine, s);
    for (int64_t c = begin; c < end; ++c) {
      pack_columns(mine, c, 1, s);
      for (int64_t r = 0; r < row_panels_; ++r) {
        if (c + 1 < end) {
          prefetch_share(b_, (c + 1) * Tile::kColumns, columns_of(c + 1), s.begin, s.count, r, row_panels_);
        }
        multiply(to, block, r, c, shared + r * Tile::kRows * depth, mine, s);
      }
    }
    if (finish_ && s.end() == shape_.k) finish_(to.c, to.ldc, block);
  }

  ProductShape shape_;
  Operand a_, b_;
  Sums<T> sums_;
  const Finish<T>& finish_;
  int64_t row_panels_, column_panels_;
  int64_t jobs_ = 1, panels_per_job_ = 1, panels_per_block_ = 1;  // numbers of panels are maxima
  int threads_;
  bool by_rows_;
};

}  // namespace

template <class T>
void gemm(const ProductShape& shape, const Operand& a, const Operand& b, const Sums<T>& sums, const Finish<T>& finish) {
  if (shape.m == 0 || shape.n == 0) return;
  if constexpr (!std::is_same_v<T, double>) {
    if (has_few_rows(shape, a, b, sums)) return few_rows_product<T>(shape, a, b, sums, finish);
  }
#if __AVX512F__
  if constexpr (std::is_same_v<T, bfloat16>) {
    if (uses_amx()) return Product<AmxTile>(shape, a, b, sums, finish).run();
  }
#endif
  if constexpr (!std::is_same_v<T, bfloat16>) {
    if (multiplies_by_blas()) return blas_product<T>(shape, a, b, sums, finish);
  }
  Product<RegisterTile<T>>(shape, a, b, sums, finish).run();
}
template void gemm(const ProductShape&, const Operand&, const Operand&, const Sums<float>&, const Finish<float>&);
template void gemm(const ProductShape&, const Operand&, const Operand&, const Sums<double>&, const Finish<double>&);
template void gemm(const ProductShape&, const Operand&, const Operand&, const Sums<bfloat16>&, const Finish<bfloat16>&);

}  // namespace gyre::GYRE_CPU_NAMESPACE
