// Reference implementations of softmax attention, which compute the scores of every pair, and of linear attention in
// its quadratic form.
#include <algorithm>
#include <cmath>
#include <utility>

#include "gyre/autograd/reference.h"
#include "gyre/autograd/reference_parts.h"

namespace gyre::reference {

namespace {

// The (query, key) pairs of one head of one segment: nq queries and nk keys. Query i has position i + nk - nq among the
// keys.
struct HeadPairs {
  int64_t nq, nk;

  int64_t distance(int64_t query, int64_t key) const { return key - (query + nk - nq); }
  // A matrix (nq, nk) of elements of a table: entry(i, j) is the element's index, or -1 for 0.
  template <class F>
  Value gather_pairs(const Value& table, const F& entry) const {
    std::vector<int64_t> index;
    for (int64_t i = 0; i < nq; ++i)
      for (int64_t j = 0; j < nk; ++j) index.push_back(entry(i, j));
    return gather(table, nq, nk, std::move(index));
  }
  // The matrix (nq, nk) of rule(i, j).
  template <class F>
  Matrix filled(const F& rule) const {
    Matrix m(nq, nk);
    for (int64_t i = 0; i < nq; ++i)
      for (int64_t j = 0; j < nk; ++j) m(i, j) = rule(i, j);
    return m;
  }
};

// Softmax over the visible keys; zeros for a query without visible keys.
Value attention_weights(const Value& scores, const HeadPairs& pairs, const AttentionRule& rule) {
  Matrix visible = pairs.filled([&](int64_t i, int64_t j) {
    const int64_t t = pairs.distance(i, j);
    return double(std::abs(t) <= rule.window && (t <= 0 || !rule.causal));
  });
  Matrix unseen(pairs.nq, 1);  // 1 for queries without visible keys: keeps the division below finite
  for (int64_t i = 0; i < pairs.nq; ++i) {
    double seen = 0;
    for (int64_t j = 0; j < pairs.nk; ++j) seen += visible(i, j);
    unseen(i, 0) = seen == 0 ? 1 : 0;
  }
  const Value e = exp(minus_row_maximum(scores)) * scores.graph->input(std::move(visible));
  const Value sums = sum_columns(e) + scores.graph->input(std::move(unseen));
  return e * repeat_column(reciprocal(sums), pairs.nk);
}

// The columns of a table for this head: all of them if the heads share the table.
Value head_columns(const Value& table, int64_t head, int64_t width) {
  return table.cols() == width ? table : columns(table, head * width, width);
}

// Index of an element of a table, or -1 if the table has no such row. That happens only for pairs that are not visible.
int64_t table_entry(const Value& table, int64_t row, int64_t column) {
  return row >= 0 && row < table.rows() ? row * table.cols() + column : -1;
}

// The terms of the scores that depend on positions, before the multiplication by the scale; without the bias.
Value position_scores(const Value& q, const Value& k, const HeadPairs& pairs, const PositionTerms& terms, int64_t head,
                      int64_t heads) {
  Value sum = filled(q, pairs.nq, pairs.nk, 0);
  const auto row = [&](int64_t i, int64_t j) { return terms.zero_offset + pairs.distance(i, j); };
  if (terms.query_table) {
    const Value products = matmul(head_columns(terms.query_table, head, q.cols()), transpose(q));  // (distances, nq)
    sum = sum + pairs.gather_pairs(products, [&](int64_t i, int64_t j) { return table_entry(products, row(i, j), i); });
  }
  if (terms.key_table) {
    const Value products = matmul(head_columns(terms.key_table, head, q.cols()), transpose(k));
    sum = sum + pairs.gather_pairs(products, [&](int64_t i, int64_t j) { return table_entry(products, row(i, j), j); });
  }
  if (terms.pos_queries) {
    const int64_t width = terms.pos_queries.cols() / heads;
    const Value products = matmul(columns(terms.pos_queries, head * width, width),
                                  transpose(columns(terms.pos_keys, head * width, width)));
    sum = sum + pairs.gather_pairs(
                    products, [&](int64_t i, int64_t j) { return table_entry(products, i + pairs.nk - pairs.nq, j); });
  }
  return sum;
}

// (nq, width): row i is the sum over keys j of weights(i, j) times the table's row for the distance of i and j.
Value position_values(const Value& weights, const HeadPairs& pairs, const PositionTerms& terms, const Value& table) {
  std::vector<int64_t> index;
  for (int64_t i = 0; i < pairs.nq; ++i) {
    for (int64_t row = 0; row < table.rows(); ++row) {
      const int64_t key = row - terms.zero_offset + i + pairs.nk - pairs.nq;
      index.push_back(key >= 0 && key < pairs.nk ? i * pairs.nk + key : -1);
    }
  }
  return matmul(gather(weights, pairs.nq, table.rows(), std::move(index)), table);
}

Value attend(const Value& q, const Value& k, const Value& v, int64_t first_key, int64_t head, const AttentionRule& rule,
             const PositionTerms& terms) {
  const HeadPairs pairs{q.rows(), k.rows()};
  Value scores = product(q, k) + position_scores(q, k, pairs, terms, head, rule.heads);
  scores = scale(scores, rule.scale);
  if (terms.bias) {
    scores = scores + pairs.gather_pairs(terms.bias, [&](int64_t i, int64_t j) {
      return table_entry(terms.bias, terms.zero_offset + pairs.distance(i, j), head);
    });
  }
  Value weights = attention_weights(scores, pairs, rule);
  if (rule.dropout) {
    weights =
        weights *
        q.graph->input(pairs.filled([&](int64_t i, int64_t j) { return rule.dropout(int(head), i, first_key + j); }));
  }
  const Value out = matmul(weights, v);
  if (!terms.value_table) return out;
  return out + position_values(weights, pairs, terms, head_columns(terms.value_table, head, v.cols()));
}

}  // namespace

Value attention(const Value& q, const Value& k, const Value& v, const Segments& queries, const Segments& keys,
                const AttentionRule& rule, const PositionTerms& terms) {
  const int64_t d = q.cols(), width = d / rule.heads;
  Value out = filled(q, q.rows(), d, 0);
  for (int s = 0; s < queries.count(); ++s) {
    const int64_t nq = queries.length(s), nk = keys.length(s);
    for (int head = 0; head < rule.heads; ++head) {
      const auto query_index = block_index(queries.begin(s), nq, head * width, width, d);
      const auto key_index = block_index(keys.begin(s), nk, head * width, width, d);
      const Value attended = attend(gather(q, nq, width, query_index), gather(k, nk, width, key_index),
                                    gather(v, nk, width, key_index), keys.begin(s), head, rule, terms);
      out = add_block(out, attended, query_index);
    }
  }
  return out;
}

Value head_dot(const Value& x, const Value& w, int heads, double factor) {
  const int64_t width = x.cols() / heads;
  Matrix sums(x.cols(), heads);  // sums the columns of each head, times the factor
  for (int64_t f = 0; f < x.cols(); ++f) sums(f, f / width) = factor;
  return matmul(x * repeat_row(w, x.rows()), x.graph->input(std::move(sums)));
}

Value linear_attention_scan(const Value& q, const Value& k, const Value& v, const Segments& segments, int heads,
                            ScanDirection direction) {
  const int64_t features = q.cols() / heads, width = v.cols() / heads;
  Value out = filled(q, q.rows(), v.cols(), 0);
  for (int s = 0; s < segments.count(); ++s) {
    const int64_t n = segments.length(s), first = segments.begin(s);
    Matrix summed(n, n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        summed(i, j) =
            direction == ScanDirection::all || (direction == ScanDirection::before ? j <= i : j >= i) ? 1 : 0;
      }
    }
    const Value mask = q.graph->input(std::move(summed));
    for (int head = 0; head < heads; ++head) {
      const auto feature_index = block_index(first, n, head * features, features, q.cols());
      const auto value_index = block_index(first, n, head * width, width, v.cols());
      const Value qh = gather(q, n, features, feature_index), kh = gather(k, n, features, feature_index);
      const Value sums = matmul(matmul(qh, transpose(kh)) * mask, gather(v, n, width, value_index));
      out = add_block(out, sums, value_index);
    }
  }
  return out;
}

namespace {

// Reshapes x(n, heads * width) to (n * heads, width) and back: the elements keep their order.
Value reshape(const Value& x, int64_t rows, int64_t cols) {
  return gather(x, rows, cols, block_index(0, 1, 0, x.value().size(), x.value().size()));
}
Value by_head(const Value& x, int64_t heads) { return reshape(x, x.rows() * heads, x.cols() / heads); }

}  // namespace

Value head_divide(const Value& a, const Value& b, double epsilon) {
  const int64_t width = a.cols() / b.cols();
  const Value inverse = reciprocal(b + filled(b, b.rows(), b.cols(), epsilon));
  return a * reshape(repeat_column(by_head(inverse, b.cols()), width), a.rows(), a.cols());
}

Value head_softmax(const Value& x, int heads) {
  const Value e = exp(minus_row_maximum(by_head(x, heads)));
  return reshape(e * repeat_column(reciprocal(sum_columns(e)), e.cols()), x.rows(), x.cols());
}

Value head_matmul(const Value& x, const Value& w, int heads) {
  return reshape(linear(by_head(x, heads), w), x.rows(), heads * w.rows());
}

Value favor_features(const Value& products, const Value& x, int heads, bool queries) {
  const Value p = by_head(products, heads), rows = by_head(x, heads);
  const double factor = std::pow(double(rows.cols()), -0.25);
  const Value exponents = scale(p, factor);
  std::vector<int64_t> largest;  // index of the largest element of each row
  for (int64_t i = 0; i < p.rows(); ++i) {
    const auto begin = p.value().data.begin() + i * p.cols();
    largest.push_back(i * p.cols() + (std::max_element(begin, begin + p.cols()) - begin));
  }
  const Value shift = queries ? gather(exponents, p.rows(), 1, std::move(largest))
                              : scale(sum_columns(rows * rows), factor * factor / 2);
  const Value e = exp(exponents + scale(repeat_column(shift, p.cols()), -1));
  const Value features = e + filled(e, e.rows(), e.cols(), kFavorEpsilon);
  return reshape(scale(features, 1 / std::sqrt(double(p.cols()))), products.rows(), products.cols());
}

}  // namespace gyre::reference
