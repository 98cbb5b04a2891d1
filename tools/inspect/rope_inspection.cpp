#include "tools/inspect/rope_inspection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gyre/train/tasks/inputs.h"

namespace gyre {
namespace {

constexpr uint64_t kSeed = 1;
enum Stream : uint64_t { kValues, kQuery, kKey };

double dot(const double* a, const double* b, int64_t n) { return std::inner_product(a, a + n, b, 0.0); }

// The larger of two numbers, where NaN is larger than all others.
double worse(double a, double b) { return std::isnan(a) || a > b ? a : b; }

// The largest absolute difference, divided by the largest absolute value of `expected`.
double deviation(const Tensor& actual, const Tensor& expected) {
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double a = actual.data<double>()[i], e = expected.data<double>()[i];
    largest = std::max(largest, std::abs(e));
    difference = worse(difference, std::abs(a - e));
  }
  return difference / largest;
}

Tensor unit_vectors(int64_t dim) {
  Tensor rows = Tensor::zeros({dim, dim}, DType::f64);
  for (int64_t i = 0; i < dim; ++i) rows.data<double>()[i * dim + i] = 1;
  return rows;
}

Tensor transposed(const Tensor& m) {
  Tensor t = m.like();
  const int64_t dim = m.cols();
  for (int64_t i = 0; i < dim; ++i) {
    for (int64_t j = 0; j < dim; ++j) t.data<double>()[j * dim + i] = m.data<double>()[i * dim + j];
  }
  return t;
}

Tensor repeated(const Tensor& row, size_t times) {
  Tensor rows = Tensor::empty({int64_t(times), row.size()}, DType::f64);
  for (size_t i = 0; i < times; ++i)
    std::copy_n(row.data<double>(), row.size(), rows.data<double>() + int64_t(i) * row.size());
  return rows;
}

// Su et al. 2021, eq. 15: blocks of m (cos t, -sin t; sin t, cos t) with t = position * position_scale * theta of the
// pair, and ones for the features that are not rotated.
Tensor textbook_matrix(const RopeShape& rotary, const std::vector<double>& frequencies, int32_t position, int64_t dim) {
  Tensor matrix = unit_vectors(dim);
  double* r = matrix.data<double>();
  for (int64_t i = 0; i < rotary.dims / 2; ++i) {
    const auto [a, b] = rotary_pair(rotary, i);
    const double t = position * rotary.position_scale * frequencies[size_t(i)];
    r[a * dim + a] = r[b * dim + b] = rotary.magnitude * std::cos(t);
    r[a * dim + b] = -rotary.magnitude * std::sin(t);
    r[b * dim + a] = rotary.magnitude * std::sin(t);
  }
  return matrix;
}

class Inspector {
 public:
  Inspector(const RopeOptions& options, int64_t dim, const std::vector<int32_t>& positions, Kernels& kernels,
            const RopeOp& op)
      : dim_(dim), kernels_(kernels), op_(op) {
    PositionConfig config("rope");
    config.get<RopeOptions>() = options;
    config.get<RopeOptions>().learnable = true;  // so that the rotation exposes its frequencies
    encoding_ = make_position_encoding({config, dim, 1, parameters_, "rope"});
    parameters_.allocate(kSeed, DType::f64, kernels.device());
    found_.positions = positions;
    longest_ = *std::max_element(positions.begin(), positions.end()) + 1;
    Tape tape(kernels, {.record = false});
    const Rope rotation = rotation_on(tape);
    found_.rotary = rotation.shape;
    found_.frequencies = rotation.frequencies.value().to_cpu().to_vector<double>();
    // The rounding error of an angle is relative to its size, so the bound grows with the largest angle.
    bound_ = 1e-12 + 4 * std::numeric_limits<double>::epsilon() * double(longest_) * rotation.shape.position_scale *
                         *std::max_element(found_.frequencies.begin(), found_.frequencies.end());
  }

  RopeInspection run() {
    compare_matrices();
    check_inverse();
    compare_scores();
    compare_frequency_gradient();
    return std::move(found_);
  }

 private:
  struct Rotated {
    Tensor y, dx;
  };

  Rope rotation_on(Tape& tape) const { return encoding_->rotation(tape, DType::f64, longest_); }

  // Forward of rows x(n, dim) at n positions, and backward of `cotangent`, or of the output if it is undefined.
  Rotated rotate(const Tensor& x, const std::vector<int32_t>& positions, const Tensor& cotangent = {}) const {
    Tape tape(kernels_, {});
    const Var in = tape.leaf(x.to(kernels_.device()));
    const Var out = op_(in, rotation_on(tape), to_tensor(positions));
    const Tensor y = out.value().to_cpu();
    tape.backward(out, cotangent ? cotangent.to(kernels_.device()) : out.value().clone());
    return {y, tape.gradient(in).to_cpu()};
  }

  void check(const std::string& what, double deviation, double bound) {
    found_.checks.push_back({what, deviation, bound});
  }

  // Row i of the output is the matrix times unit vector i, which is its column i.
  void compare_matrices() {
    const Tensor units = unit_vectors(dim_);
    double forward = 0, backward = 0;
    for (const int32_t position : found_.positions) {
      const Rotated rotated = rotate(units, std::vector<int32_t>(size_t(dim_), position), units);
      const Tensor expected = textbook_matrix(found_.rotary, found_.frequencies, position, dim_);
      found_.matrices.push_back(transposed(rotated.y));
      found_.transposes.push_back(transposed(rotated.dx));
      forward = worse(forward, deviation(found_.matrices.back(), expected));
      backward = worse(backward, deviation(found_.transposes.back(), transposed(expected)));
    }
    check("forward is the textbook matrix R", forward, bound_);
    check("backward is its transpose", backward, bound_);
  }

  void check_inverse() {
    const int64_t rows = int64_t(found_.positions.size());
    const Tensor x = normal_tensor({rows, dim_}, DType::f64, kSeed, kValues), expected = x.clone();
    const double m = found_.rotary.magnitude;
    for (int64_t i = 0; i < x.size(); ++i) {
      if (i % dim_ < found_.rotary.dims) expected.data<double>()[i] *= m * m;
    }
    check(m == 1 ? "backward undoes forward: R^T R x = x" : concat("backward undoes forward: R^T R x = ", m * m, " x"),
          deviation(rotate(x, found_.positions).dx, expected), bound_);
  }

  // Scores of a query at queries[i] with a key at keys[i], divided by their norms.
  std::vector<double> scores(const std::vector<int32_t>& queries, const std::vector<int32_t>& keys) const {
    const Tensor q = normal_tensor({1, dim_}, DType::f64, kSeed, kQuery);
    const Tensor k = normal_tensor({1, dim_}, DType::f64, kSeed, kKey);
    const Tensor at_q = rotate(repeated(q, queries.size()), queries).y, at_k = rotate(repeated(k, keys.size()), keys).y;
    const double norms =
        std::sqrt(dot(q.data<double>(), q.data<double>(), dim_) * dot(k.data<double>(), k.data<double>(), dim_));
    std::vector<double> all;
    for (int64_t i = 0; i < int64_t(queries.size()); ++i)
      all.push_back(dot(at_q.data<double>() + i * dim_, at_k.data<double>() + i * dim_, dim_) / norms);
    return all;
  }

  // Compares each score with the score of the same distance at positions that start from 0.
  void compare_scores() {
    std::vector<int32_t> m, n, m_from_0, n_from_0;
    for (const int32_t query : found_.positions) {
      for (const int32_t key : found_.positions) {
        m.push_back(query);
        n.push_back(key);
        m_from_0.push_back(std::max(query - key, 0));
        n_from_0.push_back(std::max(key - query, 0));
      }
    }
    const std::vector<double> here = scores(m, n), moved = scores(m_from_0, n_from_0);
    double difference = 0;
    for (size_t i = 0; i < here.size(); ++i) difference = worse(difference, std::abs(here[i] - moved[i]));
    const auto count = int64_t(found_.positions.size());
    found_.scores = Tensor::from({count, count}, here);
    check("scores depend only on m - n", difference, bound_);
  }

  void compare_frequency_gradient() {
    const Tensor x = normal_tensor({int64_t(found_.positions.size()), dim_}, DType::f64, kSeed, kValues);
    const TapeFunction rotated = [&](Tape& tape, const std::vector<Var>& in) {
      return op_(tape.constant(x.to(kernels_.device())), make_rope(in[0], longest_, found_.rotary),
                 to_tensor(found_.positions));
    };
    // The step changes the largest angle by 0.01 radian.
    const GradcheckOptions options{.step = 0.01 / std::max(1.0, double(longest_) * found_.rotary.position_scale),
                                   .max_entries = found_.rotary.dims / 2};
    const GradcheckResult result = gradcheck(
        kernels_, rotated, {{"frequencies", Tensor::from({found_.rotary.dims / 2}, found_.frequencies)}}, options)[0];
    found_.frequency_gradient = result.entries;
    check("frequency gradient equals finite differences", result.worst().error, gradcheck_tolerance(DType::f64));
  }

  int64_t dim_, longest_ = 0;  // longest_: number of positions with angles
  double bound_ = 0;
  Kernels& kernels_;
  const RopeOp& op_;
  Parameters parameters_;
  std::unique_ptr<PositionEncoding> encoding_;
  RopeInspection found_;
};

}  // namespace

bool RopeInspection::passed() const {
  return std::all_of(checks.begin(), checks.end(), [](const RopeCheck& check) { return check.passed(); });
}

std::pair<int64_t, int64_t> rotary_pair(const RopeShape& rotary, int64_t i) {
  if (rotary.pairs == RotaryPairs::interleaved) return {2 * i, 2 * i + 1};
  return {i, i + rotary.dims / 2};
}

RopeInspection inspect_rope(const RopeOptions& options, int64_t dim, const std::vector<int32_t>& positions,
                            Kernels& kernels, const RopeOp& op) {
  require(!positions.empty() && *std::min_element(positions.begin(), positions.end()) >= 0,
          "[rope] expected non-negative positions");
  return Inspector(options, dim, positions, kernels, op).run();
}

}  // namespace gyre
