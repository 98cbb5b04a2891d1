// Linear-attention scan: out_i = sum of (q_i . k_j) v_j over the rows j of the segment up to i, from i on, or all. Time
// and memory are linear in the length. Rows are processed in chunks, in the direction of the scan. The state
// S(features, width) = sum k_j v_j^T of the preceding chunks serves all rows of the next chunk:
//   out = Q S + (Q K^T, masked) V;   S += K^T V
// If features or width are 1 (the denominators of linear attention), the state is a vector, and rows are processed one
// by one.
#include "gyre/core/cpu/attention/attention_head.h"
#include "gyre/core/cpu/cpu_kernels.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

constexpr int64_t kChunk = 64;  // rows; a multiple of the lanes of any type

// One of the operands q, k, v.
template <class T>
struct Operand {
  const Tensor& rows;  // any dtype; undefined for ones
  int64_t width;       // columns per head

  Operand(const Tensor& rows, int64_t heads) : rows(rows), width(rows ? rows.cols() / heads : 1) {}

  void pack(const Tile<T>& to, int64_t first, int64_t n, int64_t head) const {
    if (!rows) {
      for (int64_t i = 0; i < n; ++i) to.element(i, 0) = 1;
      return;
    }
    dispatch_data_type(rows, [&]<class D>(D) {
      if constexpr (std::is_same_v<Compute<D>, T>)
        copy_rows<T>(to, rows_of<D>({rows}).block(first, head * width), n, 0, width);
    });
  }
};

template <class T>
struct ScanTiles {
  Tile<T> q, k;          // (chunk, features)
  Tile<T> k_transposed;  // (features, chunk)
  Tile<T> v, out;        // (chunk, width)
  Tile<T> scores;        // (chunk, chunk)
  Tile<T> state;         // (features, width); one row if features or width are 1

  ScanTiles(TileMemory<T>& memory, int64_t features, int64_t width)
      : q(memory.take(kChunk, features)),
        k(memory.take(kChunk, features)),
        k_transposed(memory.take(round_up(features, kLanes<T>), kChunk)),
        v(memory.take(kChunk, width)),
        out(memory.take(kChunk, width)),
        scores(memory.take(kChunk, kChunk)),
        state(width == 1 ? memory.take(2, features) : memory.take(features, width)) {}
};

template <class T>
void clear(const Tile<T>& tile, int64_t columns) {
  std::fill_n(tile.data, chunks_of<T>(columns) * tile.chunk_elements(), T(0));
}

template <class T>
struct Scan {
  const Tensor& out;
  Operand<T> q, k, v;
  ScanDirection direction;

  int64_t features() const { return q.width; }
  int64_t width() const { return v.width; }
  bool has_vector_state() const { return features() == 1 || width() == 1; }
};

// The scan of one head of one segment.
template <class T>
struct HeadScan {
  const Scan<T>& a;
  const ScanTiles<T>& t;
  int64_t first, rows, head;

  void run() const {
    clear_padding();
    const bool upwards = a.direction != ScanDirection::after;
    if (a.direction == ScanDirection::all) {
      for_each_chunk(true, [&](int64_t begin, int64_t n) { add_chunk(begin, n); });
      for_each_chunk(true, [&](int64_t begin, int64_t n) { read_chunk(begin, n); });
    } else {
      for_each_chunk(upwards, [&](int64_t begin, int64_t n) { scan_chunk(begin, n, upwards); });
    }
  }

 private:
  // Sets to zero the state, and the columns beyond the features that products of whole vectors read.
  void clear_padding() const {
    clear(t.state, a.width() == 1 ? a.features() : a.width());
    if (!a.has_vector_state()) return;
    for (const Tile<T>& tile : {t.q, t.k}) clear(tile, a.features());
    clear(t.v, a.width());
  }

  template <class F>
  void for_each_chunk(bool upwards, const F& f) const {
    const int64_t chunks = (rows + kChunk - 1) / kChunk;
    for (int64_t i = 0; i < chunks; ++i) {
      const int64_t begin = (upwards ? i : chunks - 1 - i) * kChunk;
      f(begin, std::min(kChunk, rows - begin));
    }
  }

  void load_keys(int64_t begin, int64_t n) const {
    a.k.pack(t.k, first + begin, n, head);
    a.v.pack(t.v, first + begin, n, head);
  }
  void load_queries(int64_t begin, int64_t n) const { a.q.pack(t.q, first + begin, n, head); }

  void store(int64_t begin, int64_t n) const {
    dispatch_data_type(a.out, [&]<class D>(D) {
      if constexpr (std::is_same_v<Compute<D>, T>)
        copy_rows<T>(rows_of<D>({a.out}).block(first + begin, head * a.width()), t.out, n, 0, a.width());
    });
  }

  void add_chunk(int64_t begin, int64_t n) const {
    load_keys(begin, n);
    if (a.has_vector_state()) {
      for (int64_t i = 0; i < n; ++i) add_row(i);
    } else {
      multiply<true>(t.state, t.k, t.v, a.features(), chunks_of<T>(a.width()), n, true);
    }
  }

  void read_chunk(int64_t begin, int64_t n) const {
    load_queries(begin, n);
    if (a.has_vector_state()) {
      for (int64_t i = 0; i < n; ++i) read_row(i);
    } else {
      multiply<false>(t.out, t.q, t.state, n, chunks_of<T>(a.width()), a.features(), false);
    }
    store(begin, n);
  }

  void scan_chunk(int64_t begin, int64_t n, bool upwards) const {
    load_keys(begin, n);
    load_queries(begin, n);
    if (a.has_vector_state()) {
      for (int64_t i = 0; i < n; ++i) {
        add_row(upwards ? i : n - 1 - i);
        read_row(upwards ? i : n - 1 - i);
      }
    } else {
      const int64_t columns = chunks_of<T>(a.width());
      multiply<false>(t.out, t.q, t.state, n, columns, a.features(), false);
      transpose_tile(t.k_transposed, t.k, n, a.features());
      multiply<false>(t.scores, t.q, t.k_transposed, n, chunks_of<T>(n), a.features(), false);
      mask_scores(n, upwards);
      multiply<false>(t.out, t.scores, t.v, n, columns, n, true);
      multiply<true>(t.state, t.k, t.v, a.features(), columns, n, true);
    }
    store(begin, n);
  }

  void mask_scores(int64_t n, bool upwards) const {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = upwards ? i + 1 : 0; j < (upwards ? n : i); ++j) t.scores.element(i, j) = 0;
    }
  }

  void add_row(int64_t i) const {
    const bool by_width = a.width() == 1;
    const Tile<T>&row = by_width ? t.k : t.v, &factor = by_width ? t.v : t.k;
    for (int64_t c = 0; c < chunks_of<T>(by_width ? a.features() : a.width()); ++c)
      t.state.vector(0, c) += row.vector(i, c) * factor.element(i, 0);
  }

  void read_row(int64_t i) const {
    if (a.width() > 1) {
      for (int64_t c = 0; c < chunks_of<T>(a.width()); ++c)
        t.out.vector(i, c) = t.q.element(i, 0) * t.state.vector(0, c);
      return;
    }
    typename Tile<T>::Vector products{};
    for (int64_t c = 0; c < chunks_of<T>(a.features()); ++c) products += t.q.vector(i, c) * t.state.vector(0, c);
    T sum = 0;
    for (int64_t lane = 0; lane < kLanes<T>; ++lane) sum += products[lane];
    t.out.element(i, 0) = sum;
  }
};

template <class T>
void run(const Scan<T>& scan, const Segments& segments, int64_t heads) {
  const int64_t jobs = segments.count() * heads;
  const int64_t work = segments.tokens() * heads * scan.features() * scan.width();
  ThreadFailure failure;
#pragma omp parallel if (jobs > 1 && work > 4 * worth_a_thread())
  {
    static thread_local TileMemory<T> memory;
    std::optional<ScanTiles<T>> tiles;
    failure.guard([&] { tiles.emplace(memory.template lay_out<ScanTiles<T>>(scan.features(), scan.width())); });
#pragma omp for schedule(dynamic)
    for (int64_t job = 0; job < jobs; ++job) {
      const int s = int(job / heads);
      if (tiles) HeadScan<T>{scan, *tiles, segments.begin(s), segments.length(s), job % heads}.run();
    }
  }
  failure.rethrow();
}

}  // namespace

void CpuKernels::linear_attention_scan(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                                       const Segments& segments, int heads, ScanDirection direction) {
  // Checks the dtypes here, because nothing may throw in the parallel region.
  for (const Tensor& t : {out, q, k, v}) {
    if (t) dispatch_data_type(t, [](auto) {});
  }
  const auto run_as = [&]<class T>(T) {
    run<T>({out, {q, heads}, {k, heads}, {v, heads}, direction}, segments, heads);
  };
  if (out.dtype() == DType::f64) {
    run_as(double{});
  } else {
    run_as(float{});
  }
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
