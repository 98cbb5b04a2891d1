// Attention while decoding: one query of each hypothesis over the tokens that it has, wherever the steps left them.
#include <algorithm>
#include <numbers>
#include <vector>

#include "core/cpu/attention_in_place.h"
#include "core/cpu/attention_terms.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/parallel.h"
#include "core/thread_failure.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class A, class B>
auto dot(const A* a, const B* b, int64_t n) {
  Compute<A> sum = 0;
  for (int64_t f = 0; f < n; ++f) sum += Compute<A>(a[f]) * Compute<A>(b[f]);
  return sum;
}

// What a thread works in.
template <class D>
struct StepMemory {
  std::vector<const D*> tokens;
  std::vector<Compute<D>> features, scores, term_scores;

  void make_room(int64_t length, int64_t width) {
    tokens.resize(size_t(length));
    features.resize(size_t(width));
    scores.resize(size_t(round_up(length, kLanes<Compute<D>>)));
    term_scores.resize(size_t(length));
  }
};

// The terms of one head of a query that stands behind all other tokens.
template <class D>
struct StepTerms {
  using T = Compute<D>;
  const TermTables<T>& tables;
  int64_t head, width, length;

  // The row of a table that token t has.
  Rows<T> rows(const Rows<T>& table) const {
    return table.from(tables.zero - (length - 1), table.stride == width ? 0 : head * width);
  }
  // Added to the score of token t, in powers of two.
  T score(int64_t t, const D* q, const D* k, T scale) const {
    const int64_t places = tables.place_width;
    T sum = 0;
    if (tables.query) sum += dot(q, rows(tables.query).at(t, 0), width);
    if (tables.key) sum += dot(k, rows(tables.key).at(t, 0), width);
    if (tables.query_places)
      sum += dot(tables.query_places.at(length - 1, head * places), tables.key_places.at(t, head * places), places);
    sum *= scale;
    if (tables.bias) sum += *tables.bias.at(tables.zero + t - (length - 1), head);
    return sum * T(std::numbers::log2e);
  }
  // Rows of the value table from that of token t on.
  Rows<T> values(int64_t t) const { return tables.value ? rows(tables.value).from(t, 0) : Rows<T>{}; }
};

}  // namespace

void CpuKernels::attention_over_steps(const Tensor& out, const std::vector<Tensor>& steps, const Tensor& path,
                                      const AttentionShape& shape, const AttentionTerms& terms) {
  with_data_type(out, [&]<class D>(D) {
    using T = Compute<D>;
    const int64_t d = out.cols(), width = d / shape.heads, length = int64_t(steps.size());
    const TermTables<T> tables(terms, shape.heads);
    const D* queries = steps.back().data<D>();
    const int64_t first = std::max<int64_t>(0, length - 1 - shape.reach);  // token that is seen
    ThreadFailure failure;
    parallel_ranges(out.rows() * shape.heads, 2 * length * width, [&](int64_t begin, int64_t end) {
      static thread_local StepMemory<D> m;
      bool has_room = false;
      failure.guard([&] {
        m.make_room(length, width);
        has_room = true;
      });
      if (!has_room) return;
      for (int64_t job = begin; job < end; ++job) {
        const int64_t row = job / shape.heads, head = job % shape.heads, feature = head * width;
        if (job == begin || feature == 0) {
          const int32_t* row_of_step = path.data<int32_t>() + row * length;
          for (size_t t = 0; t < steps.size(); ++t) m.tokens[t] = steps[t].data<D>() + row_of_step[t] * 3 * d;
        }
        const D* q = queries + row * 3 * d + feature;
        const auto key = [&](int64_t t) { return m.tokens[size_t(first + t)] + d + feature; };
        const auto value = [&](int64_t t) { return m.tokens[size_t(first + t)] + 2 * d + feature; };
        const StepTerms<D> added{tables, head, width, length};
        for (int64_t t = 0; tables.any() && first + t < length; ++t)
          m.term_scores[size_t(t)] = added.score(first + t, q, key(t), T(shape.scale));
        attend_in_place<D>(out.data<D>() + row * d + feature, q, width, length - first, T(shape.scale), key, value,
                           {m.features.data(), m.scores.data()},
                           {tables.any() ? m.term_scores.data() : nullptr, added.values(first)});
      }
    });
    failure.rethrow();
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
