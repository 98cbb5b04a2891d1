// Decode attention with a KV cache: one query per hypothesis, over the tokens of the hypothesis. The cache holds one
// tensor per step; `ancestry` gives the row of each token.
#include <algorithm>
#include <numbers>
#include <vector>

#include "gyre/core/cpu/attention/attention_in_place.h"
#include "gyre/core/cpu/attention/position_terms.h"
#include "gyre/core/cpu/cpu_kernels.h"
#include "gyre/core/cpu/parallel.h"
#include "gyre/core/parallel_for.h"

namespace gyre::GYRE_CPU_NAMESPACE {
namespace {

template <class A, class B>
auto dot(const A* a, const B* b, int64_t n) {
  Compute<A> sum = 0;
  for (int64_t f = 0; f < n; ++f) sum += Compute<A>(a[f]) * Compute<A>(b[f]);
  return sum;
}

// Workspace of a thread.
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

// Relative-position terms of one head of the last query, whose position is after all other tokens.
template <class D>
struct StepPositionTerms {
  using T = Compute<D>;
  const PositionTableRows<T>& tables;
  int64_t head, width, length;

  // A view of a table in which row t belongs to token t.
  Rows<T> rows(const Rows<T>& table) const {
    return table.block(tables.zero_offset - (length - 1), table.stride == width ? 0 : head * width);
  }
  // The term of the score of token t, times log2(e).
  T score(int64_t t, const D* q, const D* k, T scale) const {
    const int64_t pos_width = tables.pos_width;
    T sum = 0;
    if (tables.query) sum += dot(q, rows(tables.query).at(t, 0), width);
    if (tables.key) sum += dot(k, rows(tables.key).at(t, 0), width);
    if (tables.pos_queries)
      sum +=
          dot(tables.pos_queries.at(length - 1, head * pos_width), tables.pos_keys.at(t, head * pos_width), pos_width);
    sum *= scale;
    if (tables.bias) sum += *tables.bias.at(tables.zero_offset + t - (length - 1), head);
    return sum * T(std::numbers::log2e);
  }
  // The rows of the value table from token t on.
  Rows<T> values(int64_t t) const { return tables.value ? rows(tables.value).block(t, 0) : Rows<T>{}; }
};

}  // namespace

void CpuKernels::decode_attention(const Tensor& out, const std::vector<Tensor>& steps, const Tensor& ancestry,
                                  const AttentionShape& shape, const PositionTables& terms) {
  dispatch_data_type(out, [&]<class D>(D) {
    using T = Compute<D>;
    const int64_t d = out.cols(), width = d / shape.heads, length = int64_t(steps.size());
    const PositionTableRows<T> tables(terms, shape.heads);
    const D* queries = steps.back().data<D>();
    const int64_t first = std::max<int64_t>(0, length - 1 - shape.window);  // first visible token
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
          const int32_t* row_of_step = ancestry.data<int32_t>() + row * length;
          for (size_t t = 0; t < steps.size(); ++t) m.tokens[t] = steps[t].data<D>() + row_of_step[t] * 3 * d;
        }
        const D* q = queries + row * 3 * d + feature;
        const auto key = [&](int64_t t) { return m.tokens[size_t(first + t)] + d + feature; };
        const auto value = [&](int64_t t) { return m.tokens[size_t(first + t)] + 2 * d + feature; };
        const StepPositionTerms<D> added{tables, head, width, length};
        for (int64_t t = 0; tables.any() && first + t < length; ++t)
          m.term_scores[size_t(t)] = added.score(first + t, q, key(t), T(shape.scale));
        attend_in_place<D>(
            out.data<D>() + row * d + feature, q, width, length - first, T(shape.scale), key, value,
            {m.features.data(), m.scores.data(), tables.any() ? m.term_scores.data() : nullptr, added.values(first)});
      }
    });
    failure.rethrow();
  });
}

}  // namespace gyre::GYRE_CPU_NAMESPACE
