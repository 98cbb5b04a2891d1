#include "autograd/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/error.h"
#include "core/random.h"

namespace gyre::reference {

// ---- The graph ----------------------------------------------------------------------------------------------------

Value Graph::record(Matrix value, std::function<void(const Matrix& dy)> backward) {
  const int64_t rows = value.rows, cols = value.cols;
  nodes_.push_back({std::move(value), Matrix(rows, cols), std::move(backward)});
  return {this, &nodes_.back()};
}

void Graph::backward(const Value& output, const Matrix& cotangent) {
  for (Node& node : nodes_) std::fill(node.gradient.data.begin(), node.gradient.data.end(), 0.0);
  output.node->gradient = cotangent;
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (node->backward) node->backward(node->gradient);
  }
}

// ---- The basic ops ------------------------------------------------------------------------------------------------

namespace {

void require_same_shape(const char* op, const Value& a, const Value& b) {
  require(a.rows() == b.rows() && a.cols() == b.cols(), "[reference ", op, "] shapes must be equal, got (", a.rows(),
          ", ", a.cols(), ") and (", b.rows(), ", ", b.cols(), ")");
}

// c += a b
void add_product(Matrix& c, const Matrix& a, const Matrix& b) {
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.cols; ++k) {
      for (int64_t j = 0; j < b.cols; ++j) c(i, j) += a(i, k) * b(k, j);
    }
  }
}

Matrix transposed(const Matrix& a) {
  Matrix t(a.cols, a.rows);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.cols; ++j) t(j, i) = a(i, j);
  }
  return t;
}

}  // namespace

// da = dy b^T, db = a^T dy
Value matmul(const Value& a, const Value& b) {
  require(a.cols() == b.rows(), "[reference matmul] inner sizes must be equal, got ", a.cols(), " and ", b.rows());
  Matrix y(a.rows(), b.cols());
  add_product(y, a.value(), b.value());
  return a.graph->record(std::move(y), [a = a.node, b = b.node](const Matrix& dy) {
    add_product(a->gradient, dy, transposed(b->value));
    add_product(b->gradient, transposed(a->value), dy);
  });
}

Value transpose(const Value& a) {
  return a.graph->record(transposed(a.value()), [a = a.node](const Matrix& dy) {
    const Matrix t = transposed(dy);
    for (size_t i = 0; i < t.data.size(); ++i) a->gradient.data[i] += t.data[i];
  });
}

Value operator+(const Value& a, const Value& b) {
  require_same_shape("add", a, b);
  Matrix y = a.value();
  for (size_t i = 0; i < y.data.size(); ++i) y.data[i] += b.value().data[i];
  return a.graph->record(std::move(y), [a = a.node, b = b.node](const Matrix& dy) {
    for (size_t i = 0; i < dy.data.size(); ++i) {
      a->gradient.data[i] += dy.data[i];
      b->gradient.data[i] += dy.data[i];
    }
  });
}

Value operator*(const Value& a, const Value& b) {
  require_same_shape("mul", a, b);
  Matrix y = a.value();
  for (size_t i = 0; i < y.data.size(); ++i) y.data[i] *= b.value().data[i];
  return a.graph->record(std::move(y), [a = a.node, b = b.node](const Matrix& dy) {
    for (size_t i = 0; i < dy.data.size(); ++i) {
      a->gradient.data[i] += dy.data[i] * b->value.data[i];
      b->gradient.data[i] += dy.data[i] * a->value.data[i];
    }
  });
}

Value map(const Value& a, double (*f)(double), double (*derivative)(double)) {
  Matrix y = a.value();
  for (double& element : y.data) element = f(element);
  return a.graph->record(std::move(y), [a = a.node, derivative](const Matrix& dy) {
    for (size_t i = 0; i < dy.data.size(); ++i) a->gradient.data[i] += dy.data[i] * derivative(a->value.data[i]);
  });
}

Value gather(const Value& a, int64_t rows, int64_t cols, std::vector<int64_t> index) {
  Matrix y(rows, cols);
  require(index.size() == y.data.size(), "[reference gather] expected ", y.data.size(), " indices, got ", index.size());
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] >= 0) y.data[i] = a.value().data.at(size_t(index[i]));
  }
  return a.graph->record(std::move(y), [a = a.node, index = std::move(index)](const Matrix& dy) {
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] >= 0) a->gradient.data[size_t(index[i])] += dy.data[i];
    }
  });
}

// ---- Small compositions -------------------------------------------------------------------------------------------

namespace {

Value filled(const Value& like, int64_t rows, int64_t cols, double fill) {
  return like.graph->input(Matrix(rows, cols, fill));
}
// A row, n times; a column, n times: products with ones.
Value repeat_row(const Value& row, int64_t n) { return matmul(filled(row, n, 1, 1), row); }
Value repeat_column(const Value& column, int64_t n) { return matmul(column, filled(column, 1, n, 1)); }
// (n,1): the sum of each row; (1,1): the sum of all.
Value sum_columns(const Value& a) { return matmul(a, filled(a, a.cols(), 1, 1)); }
Value sum_all(const Value& a) { return sum_columns(matmul(filled(a, 1, a.rows(), 1), a)); }

Value exp(const Value& a) {
  const auto f = [](double x) { return std::exp(x); };
  return map(a, f, f);
}
Value log(const Value& a) {
  return map(
      a, [](double x) { return std::log(x); }, [](double x) { return 1 / x; });
}
Value reciprocal(const Value& a) {
  return map(
      a, [](double x) { return 1 / x; }, [](double x) { return -1 / (x * x); });
}
Value reciprocal_root(const Value& a) {
  return map(
      a, [](double x) { return 1 / std::sqrt(x); }, [](double x) { return -0.5 / (x * std::sqrt(x)); });
}
Value cosine(const Value& a) {
  return map(
      a, [](double x) { return std::cos(x); }, [](double x) { return -std::sin(x); });
}
Value sine(const Value& a) {
  return map(
      a, [](double x) { return std::sin(x); }, [](double x) { return std::cos(x); });
}

// a - (the largest of each row). A shift by a constant: it changes no softmax, so its gradient may be left out.
Value minus_row_maximum(const Value& a) {
  Matrix shift(a.rows(), a.cols());
  for (int64_t i = 0; i < a.rows(); ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < a.cols(); ++j) largest = std::max(largest, a.value()(i, j));
    for (int64_t j = 0; j < a.cols(); ++j) shift(i, j) = -largest;
  }
  return a + a.graph->input(std::move(shift));
}

// Where the block (rows, cols) at (row, col) of a matrix with `width` columns lies in it.
std::vector<int64_t> block_index(int64_t row, int64_t rows, int64_t col, int64_t cols, int64_t width) {
  std::vector<int64_t> index;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) index.push_back((row + i) * width + col + j);
  }
  return index;
}

}  // namespace

Value columns(const Value& a, int64_t first, int64_t count) {
  return gather(a, a.rows(), count, block_index(0, a.rows(), first, count, a.cols()));
}

// ---- The ops ------------------------------------------------------------------------------------------------------

Value linear(const Value& x, const Value& w) { return matmul(x, transpose(w)); }
Value linear(const Value& x, const Value& w, const Value& bias) { return linear(x, w) + repeat_row(bias, x.rows()); }

Value scale(const Value& x, double factor) { return x * filled(x, x.rows(), x.cols(), factor); }

Value activation(const Value& x, Activation kind) {
  if (kind == Activation::relu) {
    return map(
        x, [](double v) { return std::max(v, 0.0); }, [](double v) { return v > 0 ? 1.0 : 0.0; });
  }
  if (kind == Activation::tanh) {
    return map(
        x, [](double v) { return std::tanh(v); }, [](double v) { return 1 / (std::cosh(v) * std::cosh(v)); });
  }
  if (kind == Activation::elu_plus_one) {
    return map(
        x, [](double v) { return v > 0 ? v + 1 : std::exp(v); }, [](double v) { return std::exp(std::min(v, 0.0)); });
  }
  if (kind == Activation::relu_plus) {
    return map(
        x, [](double v) { return std::max(v, 0.0) + kReluPlus; }, [](double v) { return v > 0 ? 1.0 : 0.0; });
  }
  if (kind == Activation::bounded_exp) return exp(x);  // within the bound
  // x Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2
  const Value phi = map(
      x, [](double v) { return 0.5 * (1 + std::erf(v / std::numbers::sqrt2)); },
      [](double v) { return std::exp(-0.5 * v * v) / std::sqrt(2 * std::numbers::pi); });
  return x * phi;
}

Value dropout(const Value& x, const DropoutMask& mask) {
  Matrix factors(x.rows(), x.cols());
  for (size_t i = 0; i < factors.data.size(); ++i) {
    const bool kept = random_u32(mask.seed, mask.stream, i) >= mask.rate * 0x1p32;
    factors.data[i] = kept ? 1 / (1 - mask.rate) : 0;
  }
  return x * x.graph->input(std::move(factors));
}

Value layer_norm(const Value& x, const Value& gamma, const Value& beta, double epsilon) {
  const int64_t n = x.rows(), d = x.cols();
  const auto row_means = [&](const Value& a) { return repeat_column(scale(sum_columns(a), 1 / double(d)), d); };
  const Value centred = x + scale(row_means(x), -1);
  const Value variance = row_means(centred * centred);
  const Value normal = centred * reciprocal_root(variance + filled(x, n, d, epsilon));
  return normal * repeat_row(gamma, n) + repeat_row(beta, n);
}

Value embedding(const Value& table, const std::vector<int32_t>& ids, double factor) {
  std::vector<int64_t> index;
  for (int32_t id : ids) {
    for (int64_t j = 0; j < table.cols(); ++j) index.push_back(id * table.cols() + j);
  }
  return scale(gather(table, int64_t(ids.size()), table.cols(), std::move(index)), factor);
}

// y = x * C + turned(x) * S, where turned exchanges the two features of each pair and negates the new first. C and S
// are the cosines and sines of each feature's angle; on the tail that is not rotated they are 1 and 0.
Value rope(const Value& x, const Value& frequencies, const std::vector<int32_t>& positions, const Rotary& rotary) {
  const int64_t n = x.rows(), d = x.cols(), width = d / rotary.heads, half = rotary.dims / 2;
  Matrix column(n, 1);
  for (int64_t i = 0; i < n; ++i) column(i, 0) = rotary.step * positions[size_t(i)];
  const Value angles = matmul(x.graph->input(std::move(column)), frequencies);  // (n, half)

  const bool interleaved = rotary.pairs == RotaryPairs::interleaved;
  const int64_t distance = interleaved ? 1 : half;  // between the features of a pair
  std::vector<int64_t> angle_index, turned_index;
  Matrix tail(n, d), sign(n, d);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < d; ++j) {
      const int64_t feature = j % width;
      const bool rotated = feature < rotary.dims, second = interleaved ? feature % 2 == 1 : feature >= half;
      const int64_t pair = interleaved ? feature / 2 : feature % half;
      angle_index.push_back(rotated ? i * half + pair : -1);
      turned_index.push_back(rotated ? i * d + j + (second ? -distance : distance) : -1);
      tail(i, j) = rotated ? 0 : 1;
      sign(i, j) = second ? 1 : -1;
    }
  }
  const auto per_feature = [&](const Value& a) { return gather(scale(a, rotary.magnitude), n, d, angle_index); };
  const Value c = per_feature(cosine(angles)) + x.graph->input(std::move(tail));
  const Value s = per_feature(sine(angles));
  const Value turned = gather(x, n, d, std::move(turned_index)) * x.graph->input(std::move(sign));
  return x * c + turned * s;
}

namespace {

// One head of one segment: nq queries and nk keys, query i at place i + nk - nq among the keys.
struct HeadPairs {
  int64_t nq, nk;

  int64_t distance(int64_t query, int64_t key) const { return key - (query + nk - nq); }
  // A matrix (nq, nk) of numbers of a table: entry(i, j) is the index of one, or -1.
  template <class F>
  Value pick(const Value& table, const F& entry) const {
    std::vector<int64_t> index;
    for (int64_t i = 0; i < nq; ++i)
      for (int64_t j = 0; j < nk; ++j) index.push_back(entry(i, j));
    return gather(table, nq, nk, std::move(index));
  }
  // What rule(t) says of each pair's distance, as numbers.
  template <class F>
  Matrix filled(const F& rule) const {
    Matrix m(nq, nk);
    for (int64_t i = 0; i < nq; ++i)
      for (int64_t j = 0; j < nk; ++j) m(i, j) = rule(i, j);
    return m;
  }
};

// softmax over the visible keys; zeros where there is none.
Value attention_weights(const Value& scores, const HeadPairs& pairs, const AttentionRule& rule) {
  Matrix visible = pairs.filled([&](int64_t i, int64_t j) {
    const int64_t t = pairs.distance(i, j);
    return double(std::abs(t) <= rule.reach && (t <= 0 || !rule.causal));
  });
  Matrix blind(pairs.nq, 1);  // keeps the division below finite
  for (int64_t i = 0; i < pairs.nq; ++i) {
    double seen = 0;
    for (int64_t j = 0; j < pairs.nk; ++j) seen += visible(i, j);
    blind(i, 0) = seen == 0 ? 1 : 0;
  }
  const Value e = exp(minus_row_maximum(scores)) * scores.graph->input(std::move(visible));
  const Value sums = sum_columns(e) + scores.graph->input(std::move(blind));
  return e * repeat_column(reciprocal(sums), pairs.nk);
}

// The columns of a table that are this head's; all of them where the heads share it.
Value head_columns(const Value& table, int64_t head, int64_t width) {
  return table.cols() == width ? table : columns(table, head * width, width);
}

// Distances of pairs that the table lacks are those that nobody sees.
int64_t table_entry(const Value& table, int64_t row, int64_t column) {
  return row >= 0 && row < table.rows() ? row * table.cols() + column : -1;
}

// What order adds to the scores, before their scale.
Value position_scores(const Value& q, const Value& k, const HeadPairs& pairs, const AttentionTerms& terms, int64_t head,
                      int64_t heads) {
  Value sum = filled(q, pairs.nq, pairs.nk, 0);
  const auto row = [&](int64_t i, int64_t j) { return terms.zero + pairs.distance(i, j); };
  if (terms.query_table) {
    const Value met = matmul(head_columns(terms.query_table, head, q.cols()), transpose(q));  // (distances, nq)
    sum = sum + pairs.pick(met, [&](int64_t i, int64_t j) { return table_entry(met, row(i, j), i); });
  }
  if (terms.key_table) {
    const Value met = matmul(head_columns(terms.key_table, head, q.cols()), transpose(k));
    sum = sum + pairs.pick(met, [&](int64_t i, int64_t j) { return table_entry(met, row(i, j), j); });
  }
  if (terms.query_places) {
    const int64_t width = terms.query_places.cols() / heads;
    const Value met = matmul(columns(terms.query_places, head * width, width),
                             transpose(columns(terms.key_places, head * width, width)));
    sum = sum + pairs.pick(met, [&](int64_t i, int64_t j) { return table_entry(met, i + pairs.nk - pairs.nq, j); });
  }
  return sum;
}

// weights (nq, nk) and a table by distance -> (nq, width)
Value position_values(const Value& weights, const HeadPairs& pairs, const AttentionTerms& terms, const Value& table) {
  std::vector<int64_t> index;
  for (int64_t i = 0; i < pairs.nq; ++i) {
    for (int64_t row = 0; row < table.rows(); ++row) {
      const int64_t key = row - terms.zero + i + pairs.nk - pairs.nq;
      index.push_back(key >= 0 && key < pairs.nk ? i * pairs.nk + key : -1);
    }
  }
  return matmul(gather(weights, pairs.nq, table.rows(), std::move(index)), table);
}

Value attend(const Value& q, const Value& k, const Value& v, int64_t first_key, int64_t head, const AttentionRule& rule,
             const AttentionTerms& terms) {
  const HeadPairs pairs{q.rows(), k.rows()};
  Value scores = matmul(q, transpose(k)) + position_scores(q, k, pairs, terms, head, rule.heads);
  scores = scale(scores, rule.scale);
  if (terms.bias) {
    scores = scores + pairs.pick(terms.bias, [&](int64_t i, int64_t j) {
      return table_entry(terms.bias, terms.zero + pairs.distance(i, j), head);
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
                const AttentionRule& rule, const AttentionTerms& terms) {
  const int64_t d = q.cols(), width = d / rule.heads;
  Value out = filled(q, q.rows(), d, 0);
  for (int s = 0; s < queries.count(); ++s) {
    const int64_t nq = queries.length(s), nk = keys.length(s);
    for (int head = 0; head < rule.heads; ++head) {
      const auto query_index = block_index(queries.begin(s), nq, head * width, width, d);
      const auto key_index = block_index(keys.begin(s), nk, head * width, width, d);
      const Value attended = attend(gather(q, nq, width, query_index), gather(k, nk, width, key_index),
                                    gather(v, nk, width, key_index), keys.begin(s), head, rule, terms);
      std::vector<int64_t> place(size_t(q.rows() * d), -1);  // element of the block for each element of `out`
      for (size_t i = 0; i < query_index.size(); ++i) place[size_t(query_index[i])] = int64_t(i);
      out = out + gather(attended, q.rows(), d, std::move(place));
    }
  }
  return out;
}

Value head_dots(const Value& x, const Value& w, int heads, double factor) {
  const int64_t width = x.cols() / heads;
  Matrix sums(x.cols(), heads);  // of the columns of each head
  for (int64_t f = 0; f < x.cols(); ++f) sums(f, f / width) = factor;
  return matmul(x * repeat_row(w, x.rows()), x.graph->input(std::move(sums)));
}

Value linear_sums(const Value& q, const Value& k, const Value& v, const Segments& segments, int heads,
                  SumDirection direction) {
  const int64_t features = q.cols() / heads, width = v.cols() / heads;
  Value out = filled(q, q.rows(), v.cols(), 0);
  for (int s = 0; s < segments.count(); ++s) {
    const int64_t n = segments.length(s), first = segments.begin(s);
    Matrix summed(n, n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        summed(i, j) = direction == SumDirection::all || (direction == SumDirection::before ? j <= i : j >= i) ? 1 : 0;
      }
    }
    const Value mask = q.graph->input(std::move(summed));
    for (int head = 0; head < heads; ++head) {
      const auto feature_index = block_index(first, n, head * features, features, q.cols());
      const auto value_index = block_index(first, n, head * width, width, v.cols());
      const Value qh = gather(q, n, features, feature_index), kh = gather(k, n, features, feature_index);
      const Value sums = matmul(matmul(qh, transpose(kh)) * mask, gather(v, n, width, value_index));
      std::vector<int64_t> place(size_t(out.value().size()), -1);
      for (size_t i = 0; i < value_index.size(); ++i) place[size_t(value_index[i])] = int64_t(i);
      out = out + gather(sums, out.rows(), out.cols(), std::move(place));
    }
  }
  return out;
}

namespace {

// x(n, heads * width) as (n * heads, width), and back: the elements keep their order.
Value reshape(const Value& x, int64_t rows, int64_t cols) {
  return gather(x, rows, cols, block_index(0, 1, 0, x.value().size(), x.value().size()));
}
Value by_head(const Value& x, int64_t heads) { return reshape(x, x.rows() * heads, x.cols() / heads); }

}  // namespace

Value head_quotients(const Value& a, const Value& b, double epsilon) {
  const int64_t width = a.cols() / b.cols();
  const Value inverse = reciprocal(b + filled(b, b.rows(), b.cols(), epsilon));
  return a * reshape(repeat_column(by_head(inverse, b.cols()), width), a.rows(), a.cols());
}

Value head_softmax(const Value& x, int heads) {
  const Value e = exp(minus_row_maximum(by_head(x, heads)));
  return reshape(e * repeat_column(reciprocal(sum_columns(e)), e.cols()), x.rows(), x.cols());
}

Value head_products(const Value& x, const Value& w, int heads) {
  return reshape(linear(by_head(x, heads), w), x.rows(), heads * w.rows());
}

Value favor_features(const Value& products, const Value& x, int heads, bool queries) {
  const Value p = by_head(products, heads), rows = by_head(x, heads);
  const double factor = std::pow(double(rows.cols()), -0.25);
  const Value exponents = scale(p, factor);
  std::vector<int64_t> largest;  // of each row
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

// - sum over rows and classes of p * log_softmax(x), p = smoothing / v everywhere and 1 - smoothing more at the target.
Value cross_entropy(const Value& logits, const std::vector<int32_t>& targets, double smoothing) {
  const int64_t n = logits.rows(), v = logits.cols();
  Matrix p(n, v);
  for (int64_t i = 0; i < n; ++i) {
    if (targets[size_t(i)] < 0) continue;  // an ignored row
    for (int64_t j = 0; j < v; ++j) p(i, j) = smoothing / double(v);
    p(i, targets[size_t(i)]) += 1 - smoothing;
  }
  const Value shifted = minus_row_maximum(logits);
  const Value log_softmax = shifted + scale(repeat_column(log(sum_columns(exp(shifted))), v), -1);
  return scale(sum_all(log_softmax * logits.graph->input(std::move(p))), -1);
}

Value squared_error(const Value& predictions, const std::vector<float>& targets) {
  Matrix negated(predictions.rows(), predictions.cols());
  for (size_t i = 0; i < targets.size(); ++i) negated.data[i] = -double(targets[i]);
  const Value error = predictions + predictions.graph->input(std::move(negated));
  return sum_all(error * error);
}

}  // namespace gyre::reference
