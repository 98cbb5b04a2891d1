#include "gyre/autograd/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "gyre/autograd/reference_parts.h"
#include "gyre/core/error.h"
#include "gyre/core/float16.h"
#include "gyre/core/random.h"

namespace gyre::reference {

// ---- The graph ----------------------------------------------------------------------------------------------------

Value Graph::record(std::string_view op, std::vector<const Node*> inputs, Matrix value,
                    std::function<void(const Matrix& dy)> backward) {
  const int64_t rows = value.rows, cols = value.cols;
  nodes_.push_back({op, std::move(inputs), std::move(value), Matrix(rows, cols), std::move(backward)});
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

// sum += m
void add(Matrix& sum, const Matrix& m) {
  for (size_t i = 0; i < m.data.size(); ++i) sum.data[i] += m.data[i];
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
  return a.graph->record("matmul", {a.node, b.node}, std::move(y), [a = a.node, b = b.node](const Matrix& dy) {
    add_product(a->gradient, dy, transposed(b->value));
    add_product(b->gradient, transposed(a->value), dy);
  });
}

Value transpose(const Value& a) {
  return a.graph->record("transpose", {a.node}, transposed(a.value()),
                         [a = a.node](const Matrix& dy) { add(a->gradient, transposed(dy)); });
}

Value operator+(const Value& a, const Value& b) {
  require_same_shape("add", a, b);
  Matrix y = a.value();
  for (size_t i = 0; i < y.data.size(); ++i) y.data[i] += b.value().data[i];
  return a.graph->record("add", {a.node, b.node}, std::move(y), [a = a.node, b = b.node](const Matrix& dy) {
    add(a->gradient, dy);
    add(b->gradient, dy);
  });
}

Value operator*(const Value& a, const Value& b) {
  require_same_shape("mul", a, b);
  Matrix y = a.value();
  for (size_t i = 0; i < y.data.size(); ++i) y.data[i] *= b.value().data[i];
  return a.graph->record("multiply", {a.node, b.node}, std::move(y), [a = a.node, b = b.node](const Matrix& dy) {
    for (size_t i = 0; i < dy.data.size(); ++i) {
      a->gradient.data[i] += dy.data[i] * b->value.data[i];
      b->gradient.data[i] += dy.data[i] * a->value.data[i];
    }
  });
}

Value map(const Value& a, double (*f)(double), double (*derivative)(double)) {
  Matrix y = a.value();
  for (double& element : y.data) element = f(element);
  return a.graph->record("map", {a.node}, std::move(y), [a = a.node, derivative](const Matrix& dy) {
    for (size_t i = 0; i < dy.data.size(); ++i) a->gradient.data[i] += dy.data[i] * derivative(a->value.data[i]);
  });
}

Value gather(const Value& a, int64_t rows, int64_t cols, std::vector<int64_t> index) {
  Matrix y(rows, cols);
  require(index.size() == y.data.size(), "[reference gather] expected ", y.data.size(), " indices, got ", index.size());
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] >= 0) y.data[i] = a.value().data.at(size_t(index[i]));
  }
  return a.graph->record("gather", {a.node}, std::move(y), [a = a.node, index = std::move(index)](const Matrix& dy) {
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] >= 0) a->gradient.data[size_t(index[i])] += dy.data[i];
    }
  });
}

// ---- Rounding to bf16 ----------------------------------------------------------------------------------------------

namespace {

Matrix to_bf16(Matrix m) {
  for (double& x : m.data) x = bfloat16(float(x));
  return m;
}

Value rounded_value(const Value& a) {
  if (a.graph->precision() != Precision::bf16) return a;
  return a.graph->record("round", {a.node}, to_bf16(a.value()),
                         [a = a.node](const Matrix& dy) { add(a->gradient, dy); });
}

Value rounded_gradient(const Value& a) {
  if (a.graph->precision() != Precision::bf16) return a;
  return a.graph->record("round gradient", {a.node}, a.value(),
                         [a = a.node](const Matrix& dy) { add(a->gradient, to_bf16(dy)); });
}

}  // namespace

Value product(const Value& a, const Value& b) {
  return rounded_gradient(matmul(rounded_value(a), transpose(rounded_value(b))));
}

Value round_to_storage(const Value& x) { return rounded_gradient(rounded_value(x)); }

// ---- Small compositions -------------------------------------------------------------------------------------------

Value filled(const Value& like, int64_t rows, int64_t cols, double fill) {
  return like.graph->input(Matrix(rows, cols, fill));
}
Value repeat_row(const Value& row, int64_t n) { return matmul(filled(row, n, 1, 1), row); }
Value repeat_column(const Value& column, int64_t n) { return matmul(column, filled(column, 1, n, 1)); }
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

Value minus_row_maximum(const Value& a) {
  Matrix shift(a.rows(), a.cols());
  for (int64_t i = 0; i < a.rows(); ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t j = 0; j < a.cols(); ++j) largest = std::max(largest, a.value()(i, j));
    for (int64_t j = 0; j < a.cols(); ++j) shift(i, j) = -largest;
  }
  return a + a.graph->input(std::move(shift));
}

std::vector<int64_t> block_index(int64_t row, int64_t rows, int64_t col, int64_t cols, int64_t width) {
  std::vector<int64_t> index;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) index.push_back((row + i) * width + col + j);
  }
  return index;
}

Value add_block(const Value& sum, const Value& block, const std::vector<int64_t>& index) {
  std::vector<int64_t> place(size_t(sum.value().size()), -1);  // place in the block of each element of the sum, or -1
  for (size_t i = 0; i < index.size(); ++i) place[size_t(index[i])] = int64_t(i);
  return sum + gather(block, sum.rows(), sum.cols(), std::move(place));
}

Value columns(const Value& a, int64_t first, int64_t count) {
  return gather(a, a.rows(), count, block_index(0, a.rows(), first, count, a.cols()));
}

// ---- The ops ------------------------------------------------------------------------------------------------------

Value linear(const Value& x, const Value& w) { return product(x, w); }
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
        x, [](double v) { return std::max(v, 0.0) + kReluPlusOffset; }, [](double v) { return v > 0 ? 1.0 : 0.0; });
  }
  if (kind == Activation::bounded_exp) return exp(x);  // test inputs are within the bound
  if (kind == Activation::silu) {
    return x * map(
                   x, [](double v) { return 1 / (1 + std::exp(-v)); },
                   [](double v) { return 1 / (2 + std::exp(v) + std::exp(-v)); });
  }
  if (kind == Activation::gelu_tanh) {
    const Value cubic = scale(x * x * x, kGeluTanhCubic);
    const Value t = activation(scale(x + cubic, std::sqrt(2 / std::numbers::pi)), Activation::tanh);
    return scale(x + x * t, 0.5);
  }
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
  const Value centered = x + scale(row_means(x), -1);
  const Value variance = row_means(centered * centered);
  const Value normal = centered * reciprocal_root(variance + filled(x, n, d, epsilon));
  const Value y = normal * repeat_row(gamma, n);
  return beta ? y + repeat_row(beta, n) : y;
}

Value gated_activation(const Value& x, Activation kind) {
  const int64_t f = x.cols() / 2;
  return activation(columns(x, 0, f), kind) * columns(x, f, f);
}

// The groups of columns become rows, and rows again: the elements keep their order.
Value rms_norm(const Value& x, const Value& gamma, double epsilon) {
  const int64_t d = gamma.cols(), n = d > 0 ? x.value().size() / d : 0;
  std::vector<int64_t> order(size_t(x.value().size()));
  std::iota(order.begin(), order.end(), 0);
  const Value groups = gather(x, n, d, order);
  const Value mean_square = repeat_column(scale(sum_columns(groups * groups), 1 / double(d)), d);
  const Value y = groups * reciprocal_root(mean_square + filled(x, n, d, epsilon)) * repeat_row(gamma, n);
  return gather(y, x.rows(), x.cols(), order);
}

Value embedding(const Value& table, const std::vector<int32_t>& ids, double factor) {
  std::vector<int64_t> index;
  for (int32_t id : ids) {
    for (int64_t j = 0; j < table.cols(); ++j) index.push_back(id * table.cols() + j);
  }
  return scale(gather(table, int64_t(ids.size()), table.cols(), std::move(index)), factor);
}

// y = x * C + turned(x) * S, where turned(x) swaps the two features of each pair and negates the new first one. C and S
// are the cosines and sines of each feature's angle, times the magnitude; for features that are not rotated they are 1
// and 0.
Value rope(const Value& x, const Value& frequencies, const std::vector<int32_t>& positions, const RopeShape& rotary) {
  const int64_t n = x.rows(), d = x.cols(), width = d / rotary.heads, half = rotary.dims / 2;
  Matrix column(n, 1);
  for (int64_t i = 0; i < n; ++i) column(i, 0) = rotary.position_scale * positions[size_t(i)];
  const Value angles = matmul(x.graph->input(std::move(column)), frequencies);  // (n, half)

  const bool interleaved = rotary.pairs == RotaryPairs::interleaved;
  const int64_t distance = interleaved ? 1 : half;  // distance between the features of a pair
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

static Value log_softmax(const Value& x) {
  const Value shifted = minus_row_maximum(x);
  return shifted + scale(repeat_column(log(sum_columns(exp(shifted))), x.cols()), -1);
}

// z_loss times the sum of lse^2 over the rows that are not ignored.
static Value z_loss(const Value& logits, const std::vector<int32_t>& targets, double factor) {
  Matrix counted(logits.rows(), 1);
  for (int64_t i = 0; i < counted.rows; ++i) counted(i, 0) = targets[size_t(i)] < 0 ? 0 : factor;
  const Value lse = log(sum_columns(exp(logits)));
  return sum_all(lse * lse * logits.graph->input(std::move(counted)));
}

// - sum over rows and classes of p * log_softmax(x), where p = smoothing / v, plus 1 - smoothing at the target.
Value cross_entropy(const Value& logits, const std::vector<int32_t>& targets, const CrossEntropyOptions& options) {
  const double smoothing = options.smoothing;
  const int64_t n = logits.rows(), v = logits.cols();
  Matrix p(n, v);
  for (int64_t i = 0; i < n; ++i) {
    if (targets[size_t(i)] < 0) continue;  // an ignored row
    for (int64_t j = 0; j < v; ++j) p(i, j) = smoothing / double(v);
    p(i, targets[size_t(i)]) += 1 - smoothing;
  }
  const Value loss = scale(sum_all(log_softmax(logits) * logits.graph->input(std::move(p))), -1);
  return options.z_loss > 0 ? loss + z_loss(logits, targets, options.z_loss) : loss;
}

// KL(p || q) + KL(q || p) = sum of (p - q) (log p - log q)
Value r_drop(const Value& first, const Value& second, const std::vector<int32_t>& targets, double smoothing,
             double alpha) {
  Matrix counted(first.rows(), first.cols());
  for (int64_t i = 0; i < counted.rows; ++i) {
    for (int64_t j = 0; j < counted.cols; ++j) counted(i, j) = targets[size_t(i)] < 0 ? 0 : 1;
  }
  const Value log_p = log_softmax(first), log_q = log_softmax(second);
  const Value divergences =
      (exp(log_p) + scale(exp(log_q), -1)) * (log_p + scale(log_q, -1)) * first.graph->input(std::move(counted));
  const Value losses = cross_entropy(first, targets, {smoothing}) + cross_entropy(second, targets, {smoothing});
  return scale(losses, 0.5) + scale(sum_all(divergences), alpha / 4);
}

Value squared_error(const Value& predictions, const std::vector<float>& targets) {
  Matrix negated(predictions.rows(), predictions.cols());
  for (size_t i = 0; i < targets.size(); ++i) negated.data[i] = -double(targets[i]);
  const Value error = predictions + predictions.graph->input(std::move(negated));
  return sum_all(error * error);
}

}  // namespace gyre::reference
