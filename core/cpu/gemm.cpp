// The scheme is Goto's (Goto & van de Geijn 2008, "Anatomy of high-performance matrix multiplication"): both operands
// are packed into panels, and an inner kernel keeps one tile of C in registers.
//
// The operand with the shorter side is packed once, by all threads; the longer side is cut into jobs, and each packs
// its own share.
#include "core/cpu/gemm.h"

#include <omp.h>

#include "core/cpu/gemm_tile.h"
#include "core/memory.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

// Summed indices between two visits of C: a panel of B stays in the second-level cache beside a job's share of A.
constexpr int64_t kSummedBlock = 1024;
// Elements of a job's share of the packed operand, and of the block of C that it hands over: each half of a
// second-level cache of 1 MB.
constexpr int64_t kJobElements = int64_t{1} << 17;
constexpr int64_t kBlockElements = int64_t{1} << 16;
// Elements of the shared packed operand: beyond it the summed index is walked in stages, with all threads waiting
// between them.
constexpr int64_t kSharedElements = int64_t{1} << 19;

// One call of gemm: the panels of both operands and the walk over C.
template <class T>
class Product {
 public:
  Product(const ProductShape& shape, const Operand& a, const Operand& b, const Sums<T>& sums, const Finish<T>& finish)
      : shape_(shape), a_(a), b_(b), sums_(sums), finish_(finish) {
    row_panels_ = count_panels(shape.m, kTileRows);
    column_panels_ = count_panels(shape.n, kTileColumns<T>);
    threads_ = shape.m * shape.n * shape.k > kWorthThreads && !omp_in_parallel() ? omp_get_max_threads() : 1;
    // Of sides of like size columns are cut: B holds the weights, which come from memory, and a job asks for its next
    // panel while it multiplies.
    by_rows_ = shape.m >= 2 * shape.n;
    plan_jobs();
  }

  void run() {
    const int64_t panels = by_rows_ ? column_panels_ : row_panels_;
    const int64_t width = by_rows_ ? kTileColumns<T> : kTileRows, block = panels * width * depth();
    const int64_t blocks = std::max<int64_t>(1, kSharedElements / std::max<int64_t>(1, block));  // of a stage
    const int64_t stage = std::clamp<int64_t>(shape_.k, 1, blocks * kSummedBlock);
    const Memory shared((stage + kSummedBlock - 1) / kSummedBlock * block), own(threads_ * own_elements());
    const bool detour = !sums_.c && shape_.k > kSummedBlock;  // sums that wait for another block need a place
    const std::shared_ptr<void> place = detour ? allocate(size_t(shape_.m * shape_.n) * sizeof(Compute<T>)) : nullptr;
    if (detour) sums_ = {static_cast<Compute<T>*>(place.get()), shape_.n, false};
#pragma omp parallel num_threads(threads_)
    {
      Packed<T>* mine = own.data + omp_get_thread_num() * own_elements();
      for (int64_t begin = 0; begin == 0 || begin < shape_.k; begin += stage) {
        const int64_t end = std::min(shape_.k, begin + stage);
#pragma omp for schedule(static)
        for (int64_t panel = 0; panel < panels; panel += kPackTogether) {
          for_each_block(begin, end, [&](int64_t index, const Summed& s) {
            Packed<T>* to = shared.data + index * block + panel * width * packed(s.count);
            const int64_t count = std::min(kPackTogether, panels - panel);
            by_rows_ ? pack_columns(to, panel, count, s) : pack_rows(to, panel, count, s);
          });
        }
#pragma omp for schedule(dynamic)
        for (int64_t job = 0; job < jobs_; ++job) {
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

  struct Summed {
    int64_t begin, count;
    int64_t end() const { return begin + count; }
  };

  // Packed panels, with room for the last vector's overhang.
  struct Memory {
    std::shared_ptr<void> owner;
    Packed<T>* data;
    explicit Memory(int64_t elements)
        : owner(allocate(size_t(elements) * sizeof(Packed<T>) + kVectorBytes)),
          data(static_cast<Packed<T>*>(owner.get())) {}
  };

  // f(index, block) for the blocks of the summed indices begin .. end; one empty block for a sum of nothing.
  template <class F>
  static void for_each_block(int64_t begin, int64_t end, F&& f) {
    for (int64_t p = begin, index = 0; p == begin || p < end; p += kSummedBlock, ++index) {
      f(index, Summed{p, std::min(kSummedBlock, end - p)});
    }
  }

  static int64_t count_panels(int64_t n, int64_t width) { return (n + width - 1) / width; }
  static int64_t packed(int64_t summed) { return (summed + kSummedPerElement<T> - 1) / kSummedPerElement<T>; }

  // Of a panel, at most: packed elements along the summed index.
  int64_t depth() const { return packed(std::min(shape_.k, kSummedBlock)); }

  // Jobs of whole panels, a multiple of the threads where there are enough panels.
  void plan_jobs() {
    const int64_t count = by_rows_ ? row_panels_ : column_panels_, width = by_rows_ ? kTileRows : kTileColumns<T>;
    const int64_t most = std::max<int64_t>(1, by_rows_ ? kJobElements / std::max<int64_t>(1, width * depth())
                                                       : kBlockElements / std::max<int64_t>(1, width * shape_.m));
    const int64_t wanted = (count + most - 1) / most;
    const int64_t jobs = (wanted + threads_ - 1) / threads_ * threads_;
    jobs_ = std::min(jobs, count);
    panels_per_job_ = (count + jobs_ - 1) / jobs_;
    panels_per_block_ =
        std::max<int64_t>(1, kBlockElements / (kTileColumns<T> * std::max<int64_t>(1, panels_per_job_ * kTileRows)));
  }

  // Jobs differ by one panel at most.
  int64_t job_begin(int64_t job) const { return job * (by_rows_ ? row_panels_ : column_panels_) / jobs_; }

  // Of one thread: its share of the packed operand, then a block of sums.
  int64_t panel_elements() const {
    return round_up(by_rows_ ? panels_per_job_ * kTileRows * depth() : kTileColumns<T> * depth(), 64) +
           kLanes<Packed<T>>;
  }
  int64_t own_elements() const {
    const int64_t block = by_rows_ ? panels_per_job_ * kTileRows * panels_per_block_ * kTileColumns<T>
                                   : row_panels_ * kTileRows * panels_per_job_ * kTileColumns<T>;
    return round_up(panel_elements() + (sums_.c ? 0 : block), 64);
  }

  int64_t rows_of(int64_t panel) const { return std::min<int64_t>(kTileRows, shape_.m - panel * kTileRows); }
  int64_t columns_of(int64_t panel) const {
    return std::min<int64_t>(kTileColumns<T>, shape_.n - panel * kTileColumns<T>);
  }

  void pack_rows(Packed<T>* to, int64_t begin, int64_t count, const Summed& s) const {
    pack_panels<T, kTileRows>(to, a_, shape_.m, begin, count, s.begin, s.count);
  }
  void pack_columns(Packed<T>* to, int64_t begin, int64_t count, const Summed& s) const {
    pack_panels<T, kTileColumns<T>>(to, b_, shape_.n, begin, count, s.begin, s.count);
  }

  // The sums of a block: its place in C, or scratch.
  Sums<T> sums_of(const Block& block, Packed<T>* mine, const Summed& s) const {
    if (sums_.c) {
      return {sums_.c + block.row * sums_.ldc + block.column, sums_.ldc, sums_.accumulate || s.begin > 0};
    }
    return {reinterpret_cast<Compute<T>*>(mine + panel_elements() - kLanes<Packed<T>>), block.columns, false};
  }

  void multiply(const Sums<T>& to, const Block& block, int64_t row_panel, int64_t column_panel, const Packed<T>* a,
                const Packed<T>* b, const Summed& s) const {
    Compute<T>* c = to.c + (row_panel * kTileRows - block.row) * to.ldc + column_panel * kTileColumns<T> - block.column;
    multiply_panels<T>(c, to.ldc, rows_of(row_panel), columns_of(column_panel), a, b, packed(s.count), to.accumulate);
  }

  // A range of row panels against all columns, a block of columns at a time.
  void run_rows(int64_t job, const Packed<T>* shared, Packed<T>* mine, const Summed& s) const {
    const int64_t begin = job_begin(job), end = job_begin(job + 1);
    const int64_t depth = packed(s.count);
    pack_rows(mine, begin, end - begin, s);
    const int64_t row = begin * kTileRows, rows = std::min(shape_.m, end * kTileRows) - row;
    for (int64_t first = 0; first < column_panels_; first += panels_per_block_) {
      const int64_t last = std::min(column_panels_, first + panels_per_block_), column = first * kTileColumns<T>;
      const Block block{row, rows, column, std::min(shape_.n, last * kTileColumns<T>) - column};
      const Sums<T> to = sums_of(block, mine, s);
      for (int64_t c = first; c < last; ++c) {
        for (int64_t r = begin; r < end; ++r) {
          multiply(to, block, r, c, mine + (r - begin) * kTileRows * depth, shared + c * kTileColumns<T> * depth, s);
        }
      }
      if (finish_ && s.end() == shape_.k) finish_(to.c, to.ldc, block);
    }
  }

  // All rows against a range of column panels.
  void run_columns(int64_t job, const Packed<T>* shared, Packed<T>* mine, const Summed& s) const {
    const int64_t begin = job_begin(job), end = job_begin(job + 1);
    const int64_t column = begin * kTileColumns<T>, depth = packed(s.count);
    const Block block{0, shape_.m, column, std::min(shape_.n, end * kTileColumns<T>) - column};
    const Sums<T> to = sums_of(block, mine, s);
    for (int64_t c = begin; c < end; ++c) {
      pack_columns(mine, c, 1, s);
      for (int64_t r = 0; r < row_panels_; ++r) {
        if (c + 1 < end) {
          prefetch_share(b_, (c + 1) * kTileColumns<T>, columns_of(c + 1), s.begin, s.count, r, row_panels_);
        }
        multiply(to, block, r, c, shared + r * kTileRows * depth, mine, s);
      }
    }
    if (finish_ && s.end() == shape_.k) finish_(to.c, to.ldc, block);
  }

  ProductShape shape_;
  Operand a_, b_;
  Sums<T> sums_;
  const Finish<T>& finish_;
  int64_t row_panels_, column_panels_;
  int64_t jobs_ = 1, panels_per_job_ = 1, panels_per_block_ = 1;  // panels: at most
  int threads_;
  bool by_rows_;
};

}  // namespace

template <class T>
void gemm(const ProductShape& shape, const Operand& a, const Operand& b, const Sums<T>& sums, const Finish<T>& finish) {
  if (shape.m == 0 || shape.n == 0) return;
  Product<T>(shape, a, b, sums, finish).run();
}
template void gemm(const ProductShape&, const Operand&, const Operand&, const Sums<float>&, const Finish<float>&);
template void gemm(const ProductShape&, const Operand&, const Operand&, const Sums<double>&, const Finish<double>&);
template void gemm(const ProductShape&, const Operand&, const Operand&, const Sums<bfloat16>&, const Finish<bfloat16>&);

}  // namespace gyre::GYRE_CPU_NAMESPACE
