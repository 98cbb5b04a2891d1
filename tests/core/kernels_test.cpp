// Tests of the CPU kernels without autodiff: accuracy, independence of threads and instruction sets.
#include "gyre/core/kernels/kernels.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "gyre/core/hardware/blas.h"
#include "gyre/core/random.h"
#include "tests/emulated_bf16.h"
#include "tests/gpu.h"
#include "tests/threads_in_scope.h"

using namespace gyre;

namespace {

// The kernels that tests compare on this machine: those of each supported CPU level and of the first GPU.
std::vector<Kernels*> all_kernels() {
  std::vector<Kernels*> all = available_cpu_kernels();
  if (Kernels* gpu = test_gpu()) all.push_back(gpu);
  return all;
}

Tensor random_tensor(const Shape& shape, uint64_t stream) {
  const Tensor t = Tensor::empty(shape);
  for (int64_t i = 0; i < t.size(); ++i) t.data<float>()[i] = float(random_normal(5, stream, uint64_t(i)));
  return t;
}

// All elements of the tensors, one after the other.
std::vector<float> numbers(const std::vector<Tensor>& tensors) {
  std::vector<float> all;
  for (const Tensor& t : tensors) {
    const Tensor floats = t.to_cpu().to(DType::f32);
    all.insert(all.end(), floats.span<float>().begin(), floats.span<float>().end());
  }
  return all;
}

}  // namespace

TEST_CASE("the vectorized exponential is within a few units in the last place") {
  const Tensor x = Tensor::empty({1, 4001}), y = x.like();
  for (int i = 0; i <= 4000; ++i) x.data<float>()[i] = -30.0f + 0.01f * float(i);
  double normalizer = 0;
  for (int i = 0; i <= 4000; ++i) normalizer += std::exp(double(x.data<float>()[i]) - 10.0);
  for (Kernels* kernels : available_cpu_kernels()) {
    kernels->log_softmax(y, x);
    CHECK(y.data<float>()[4000] == doctest::Approx(-std::log(normalizer)).epsilon(1e-6));
  }
}

TEST_CASE("gelu, its tanh approximation, tanh and their derivatives agree with the standard library") {
  const auto gelu_cdf = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
  const double root = std::sqrt(2 / std::numbers::pi);
  const auto logistic = [=](double x) { return 1 / (1 + std::exp(-2 * root * (x + kGeluTanhCubic * x * x * x))); };
  const struct {
    Activation kind;
    std::function<double(double)> value, slope;
    double error, smallest;  // error of values, relative to the exact value or to `smallest`, whichever is larger
    std::vector<float> extremes;
  } rows[] = {
      {Activation::gelu,
       [&](double x) { return x * gelu_cdf(x); },
       [&](double x) { return gelu_cdf(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); },
       1e-7,
       10,
       {-1e30f, 1e30f}},
      {Activation::gelu_tanh,
       [&](double x) { return x * logistic(x); },
       [&](double x) {
         const double s = logistic(x);
         return s + (s > 0 && s < 1 ? 2 * x * s * (1 - s) * root * (1 + 3 * kGeluTanhCubic * x * x) : 0);
       },
       4e-6,
       1e-3,
       {-1e30f, -10.001f, -10, 10, 10.001f, 1e30f}},
      {Activation::tanh,
       [](double x) { return std::tanh(x); },
       [](double x) { return 1 - std::tanh(x) * std::tanh(x); },
       2.4e-7,
       1e-30,
       {-INFINITY, -1e30f, -50, -1e-20f, -0.0f, 0, 0.6f, 1e-5f, 9, 1e30f, INFINITY}},
  };
  for (const auto& row : rows) {
    std::vector<float> inputs = row.extremes;
    for (int i = -4000; i <= 4000; ++i) inputs.push_back(0.0025f * float(i) + 1e-4f);
    const Tensor x = Tensor::from<float>({int64_t(inputs.size())}, inputs), y = x.like(), dx = x.like();
    const Tensor ones = Tensor::from<float>(x.shape(), std::vector<float>(inputs.size(), 1));
    for (Kernels* kernels : available_cpu_kernels()) {
      CAPTURE(kernels->name());
      kernels->activation(y, x, row.kind);
      kernels->activation_backward(dx, ones, x, row.kind);
      for (size_t i = 0; i < inputs.size(); ++i) {
        const double exact = row.value(inputs[i]), allowed = row.error * std::max(std::abs(exact), row.smallest);
        REQUIRE(std::abs(y.data<float>()[i] - exact) <= allowed);
        REQUIRE(std::abs(dx.data<float>()[i] - row.slope(inputs[i])) < 4e-7);
      }
    }
  }
}

TEST_CASE("a query without a visible key gives zeros and minus infinity") {
  const Segments queries = Segments::from_lengths({2}), keys = Segments::from_lengths({0});
  const Tensor q = random_tensor({2, 4}, 1), k = Tensor::empty({0, 4}), out = q.like(), lse = Tensor::empty({1, 2});
  cpu_kernels().attention(out, lse, {.q = {q}, .k = {k}, .v = {k}, .queries = queries, .keys = keys});
  for (float x : out.span<float>()) CHECK(x == 0);
  for (float x : lse.span<float>()) CHECK(x == -INFINITY);
}

TEST_CASE("sums of squares of blocks depend neither on the number of threads nor on the start of the range") {
  const Tensor x = random_tensor({100003}, 4);
  double expected = 0;
  for (float v : x.span<float>()) expected += double(v) * v;
  for (Kernels* kernels : available_cpu_kernels()) {
    const auto sums = [&](const Tensor& range, int count) {
      const ThreadsInScope scope(count);
      const Tensor found = Tensor::empty({squares_blocks(range.size())}, DType::f64);
      kernels->block_square_sums(found, range);
      return found.to_vector<double>();
    };
    const std::vector<double> one = sums(x, 1);
    CHECK(sums(x, 3) == one);
    CHECK(int64_t(one.size()) == 100003 / kSquaresBlock + 1);
    CHECK(std::accumulate(one.begin(), one.end(), 0.0) == doctest::Approx(expected).epsilon(1e-12));
    const Tensor later = x.slice(2 * kSquaresBlock, 5 * kSquaresBlock);
    CHECK(sums(later, 3) == std::vector<double>(one.begin() + 2, one.begin() + 5));
  }
}

TEST_CASE("rounding to bf16 gives the bits of the type's conversion, also for tensors that are not aligned") {
  const EmulatedBf16 emulated;
  const Tensor x = random_tensor({1003}, 4), expected = x.to(DType::bf16);
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const int64_t first : {0, 1}) {
      const Tensor out = Tensor::zeros({1003}, DType::bf16);
      kernels->convert(out.slice(first, 1003), x.slice(first, 1003));
      const Tensor rounded = out.slice(first, 1003), wanted = expected.slice(first, 1003);
      CHECK(std::memcmp(rounded.raw(), wanted.raw(), wanted.bytes()) == 0);
    }
  }
}

TEST_CASE("products have the same bits on every CPU and for any number of threads") {
  for (const auto& [n, d, o] : {std::tuple(67, 1300, 45), std::tuple(300, 96, 1000)}) {
    const Tensor x = random_tensor({n, d}, 1), w = random_tensor({o, d}, 2), dy = random_tensor({n, o}, 3);
    std::vector<std::vector<float>> outcomes;
    for (Kernels* kernels : available_cpu_kernels()) {
      for (const int count : {1, 2}) {
        const ThreadsInScope scope(count);
        const Tensor y = dy.like(), dx = x.like(), dw = Tensor::zeros(w.shape());
        kernels->linear(y, x, w, {});
        kernels->linear_backward(dx, dw, {}, dy, x, w, {});
        outcomes.push_back(numbers({y, dx, dw}));
      }
    }
    for (const auto& outcome : outcomes) CHECK(outcome == outcomes.front());
  }
}

// Products of up to four rows read the weight without packing it.
TEST_CASE("products of few rows equal those of many, and have the same bits for any number of threads") {
  for (const int64_t width : {5, 32, 77, 700}) {
    const Tensor x = random_tensor({6, width}, 1), w = random_tensor({430, width}, 2), bias = random_tensor({430}, 3);
    const Tensor many = Tensor::empty({6, 430});
    cpu_kernels().linear(many, x, w, bias);
    for (const int64_t rows : {1, 2, 3, 4}) {
      const Tensor few = Tensor::empty({rows, 430}), one_thread = few.like(), of_first = Tensor::empty({1, 430});
      cpu_kernels().linear(few, x.slice(0, rows), w, bias);
      for (int64_t i = 0; i < few.size(); ++i)
        CHECK(few.data<float>()[i] == doctest::Approx(many.data<float>()[i]).epsilon(1e-4));
      {
        const ThreadsInScope threads(1);
        cpu_kernels().linear(one_thread, x.slice(0, rows), w, bias);
      }
      CHECK(std::memcmp(few.raw(), one_thread.raw(), few.bytes()) == 0);
      cpu_kernels().linear(of_first, x.slice(0, 1), w, bias);
      CHECK(std::memcmp(few.raw(), of_first.raw(), of_first.bytes()) == 0);
    }
  }
}

TEST_CASE("products of few rows of bf16 round the weights") {
  const EmulatedBf16 emulated;
  const Tensor x = random_tensor({2, 70}, 1).to(DType::bf16), w = random_tensor({33, 70}, 2);
  const Tensor y = Tensor::empty({2, 33}), of_rounded = y.like();
  cpu_kernels().linear(y, x, w, {});
  cpu_kernels().linear(of_rounded, x, w.to(DType::bf16), {});
  CHECK(std::memcmp(y.raw(), of_rounded.raw(), y.bytes()) == 0);
}

TEST_CASE("a backward pass that adds to an earlier gradient has the same bits as one and a sum") {
  const EmulatedBf16 emulated;
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const DType parameters = statistics_dtype(dtype);
    const Tensor x = random_tensor({67, 130}, 1).to(dtype), before = random_tensor({67, 130}, 4).to(dtype);
    const Tensor gamma = random_tensor({130}, 5).to(parameters), mean = Tensor::empty({67}, parameters),
                 rstd = mean.like();
    for (Kernels* kernels : available_cpu_kernels()) {
      const auto check = [&](const std::function<void(const Tensor& dx, const Tensor& dx_before)>& backward) {
        const Tensor alone = x.like(), expected = x.like(), actual = x.like(), in_place = before.clone();
        backward(alone, {});
        kernels->add(expected, before, alone);
        backward(actual, before);
        backward(in_place, in_place);
        CHECK(std::memcmp(actual.raw(), expected.raw(), expected.bytes()) == 0);
        CHECK(std::memcmp(in_place.raw(), expected.raw(), expected.bytes()) == 0);
      };
      for (const int64_t o : {45, 1500}) {
        const Tensor dy = random_tensor({67, o}, 3).to(dtype), w = random_tensor({o, 130}, 2).to(parameters);
        check([&](const Tensor& dx, const Tensor& dx_before) {
          kernels->linear_backward(dx, {}, {}, dy, x, w, dx_before);
        });
      }
      kernels->layer_norm(x.like(), mean, rstd, x, gamma, gamma, 1e-5);
      const Tensor dy = random_tensor({67, 130}, 3).to(dtype);
      check([&](const Tensor& dx, const Tensor& dx_before) {
        kernels->layer_norm_backward(dx, {}, {}, dy, x, gamma, mean, rstd, dx_before);
      });
    }
  }
}

TEST_CASE("padding of logits is neither read nor written") {
  constexpr int64_t n = 38, d = 19, v = 33, padded = 64;
  const Tensor x = random_tensor({n, d}, 1), w = random_tensor({v, d}, 2), bias = random_tensor({v}, 3);
  const Tensor targets = Tensor::empty({n}, DType::i32);
  for (int64_t i = 0; i < n; ++i) targets.data<int32_t>()[i] = int32_t(i % 34) - 1;
  // Logits, their gradients and those of the layer, for logits with `columns` columns.
  const auto run = [&](Kernels& kernels, int64_t columns, bool r_drop) {
    const Tensor logits = Tensor::empty({n, columns}), sums = Tensor::zeros({4}, DType::f64);
    std::fill_n(logits.data<float>(), logits.size(), std::numeric_limits<float>::quiet_NaN());
    const Tensor dx = x.like(), dw = Tensor::zeros({v, d}), dbias = Tensor::zeros({v});
    kernels.linear(logits, x, w, bias);
    if (r_drop) {
      kernels.r_drop_in_place(sums, logits, targets.slice(0, n / 2), v, 0.1, 5);
    } else {
      kernels.cross_entropy_in_place(sums, logits, targets, v, {0.1});
    }
    kernels.linear_backward(dx, dw, dbias, logits, x, w, {});
    for (int64_t i = 0; i < logits.size(); ++i) CHECK(std::isnan(logits.data<float>()[i]) == (i % columns >= v));
    return numbers({dx, dw, dbias, sums});
  };
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const bool r_drop : {false, true}) CHECK(run(*kernels, v, r_drop) == run(*kernels, padded, r_drop));
  }
}

TEST_CASE("OpenBLAS reports the name of its kernels") { CHECK(has_blas() == (blas_kernels() != "none")); }

// ---- NaN propagates through activations, forward and backward, so that it can be traced to its origin --------------

namespace {

constexpr Activation kActivations[] = {Activation::relu,      Activation::gelu,       Activation::tanh,
                                       Activation::silu,      Activation::gelu_tanh,  Activation::elu_plus_one,
                                       Activation::relu_plus, Activation::bounded_exp};
constexpr DType kTypes[] = {DType::f32, DType::f64, DType::bf16};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Calls f(kind, type, x) for each activation and type. x has 33 numbers, some of them NaN: whole vectors and a
// remainder.
template <class F>
void for_each_row(Kernels& kernels, F&& f) {
  for (const Activation kind : kActivations) {
    for (const DType type : kTypes) {
      CAPTURE(kernels.name());
      CAPTURE(to_string(kind));
      CAPTURE(to_string(type));
      std::vector<float> x(33);
      for (size_t i = 0; i < x.size(); ++i) x[i] = i % 5 == 2 ? kNan : float(i) / 4 - 4;
      f(kind, type, x);
    }
  }
}

}  // namespace

TEST_CASE("activations keep NaN, and their derivatives propagate it as in PyTorch") {
  const EmulatedBf16 everywhere;
  for (Kernels* kernels : all_kernels()) {
    for_each_row(*kernels, [&](Activation kind, DType type, const std::vector<float>& numbers_in) {
      const Tensor x = Tensor::from({1, 33}, numbers_in).to(type).to(kernels->device());
      const Tensor dy = Tensor::from({1, 33}, std::vector<float>(33, 0.5F)).to(type).to(kernels->device());
      const Tensor y = x.like(), dx = x.like();
      kernels->activation(y, x, kind);
      kernels->activation_backward(dx, dy, x, kind);
      const std::vector<float> values = numbers({y}), slopes = numbers({dx});
      for (size_t i = 0; i < values.size(); ++i) {
        CAPTURE(i);
        const bool bad = std::isnan(numbers_in[i]), is_relu = kind == Activation::relu || kind == Activation::relu_plus;
        CHECK(std::isnan(values[i]) == bad);
        CHECK(std::isnan(slopes[i]) == (bad && !is_relu));
        // Like PyTorch's threshold_backward(grad, x, 0): the gradient is 0 only if x <= 0.
        if (is_relu) CHECK(slopes[i] == (numbers_in[i] <= 0 ? 0 : 0.5F));
      }
    });
  }
}

// CPU only: on a GPU, relu is part of the product of cublasLt, whose handling of NaN is not documented.
TEST_CASE("a linear layer with an activation propagates NaN of its bias") {
  const EmulatedBf16 everywhere;
  for (Kernels* kernels : available_cpu_kernels()) {
    for_each_row(*kernels, [&](Activation kind, DType type, const std::vector<float>& bias) {
      const DType parameters = type == DType::bf16 ? DType::f32 : type;
      const Tensor x = Tensor::zeros({2, 8}, type), w = Tensor::zeros({33, 8}, parameters);
      const Tensor y = Tensor::empty({2, 33}, type);
      const Tensor pre = kind == Activation::relu ? Tensor() : y.like();
      kernels->linear_activation(y, pre, x, w, Tensor::from({33}, bias).to(parameters), kind, {});
      const std::vector<float> values = numbers({y});
      for (size_t i = 0; i < values.size(); ++i) {
        CAPTURE(i);
        CHECK(std::isnan(values[i]) == std::isnan(bias[i % 33]));
      }
    });
  }
}

// ---- The k largest values of each row, on the CPU and, if there is one, on the GPU ---------------------------------

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void check(Kernels& kernels, const Tensor& x, int64_t k, int64_t also) {
  const int64_t n = x.rows(), v = x.cols();
  const Tensor values = Tensor::empty({n, k + 1}), columns = Tensor::empty({n, k}, DType::i32);
  kernels.topk(values, columns, x.to(kernels.device()), also);
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.data<float>() + i * v;
    std::vector<int32_t> order;
    for (int32_t j = 0; j < v; ++j)
      if (row[j] > -kInfinity) order.push_back(j);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return row[a] > row[b]; });
    for (int64_t j = 0; j < k; ++j) {
      const bool there = j < int64_t(order.size());
      CHECK(columns.data<int32_t>()[i * k + j] == (there ? order[size_t(j)] : -1));
      CHECK(values.data<float>()[i * (k + 1) + j] == (there ? row[order[size_t(j)]] : -kInfinity));
    }
    const float last = values.data<float>()[i * (k + 1) + k];
    CHECK((last == row[also] || (std::isnan(last) && std::isnan(row[also]))));
  }
}

}  // namespace

TEST_CASE("top-k selects the largest values of each row, with ties in the order of columns") {
  RandomStream random(7, 0);
  for (Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name());
    for (const auto& [n, v, k] :
         {std::array<int64_t, 3>{3, 1, 1}, {1, 5, 9}, {4, 63, 4}, {2, 300, 20}, {5, 1031, 11}}) {
      const Tensor x = Tensor::empty({n, v});
      for (float& number : x.span<float>()) number = -0.25F * float(random.below(40));
      check(*kernels, x, k, v / 2);
    }
  }
}

TEST_CASE("top-k selects neither NaN nor -infinity") {
  const Tensor x = Tensor::from<float>({2, 5}, std::vector<float>{-kInfinity, NAN, -2, -kInfinity, -1,  //
                                                                  NAN, NAN, NAN, NAN, NAN});
  for (Kernels* kernels : all_kernels()) {
    CAPTURE(kernels->name());
    check(*kernels, x, 4, 1);
    check(*kernels, x, 0, 4);
  }
}

// ---- Products that are symmetric, of which CPUs compute the lower triangle -----------------------------------------

namespace gyre::test {
namespace {

struct Factors {
  int64_t n, d;
  DType type;
  std::vector<double> x, w;  // (n, d), exact in `type`
};

// x w^T is symmetric but for rounding: w = x D with a diagonal D.
Factors factors(int64_t n, int64_t d, DType type) {
  const Tensor x = Tensor::empty({n, d}, DType::f64);
  for (int64_t i = 0; i < n * d; ++i) x.data<double>()[i] = random_normal(1, uint64_t(n), uint64_t(i));
  Factors f{n, d, type, x.to(type).to(DType::f64).to_vector<double>(), {}};
  // Powers of two keep w exact in bf16.
  const double even = type == DType::bf16 ? 2 : 0.3, odd = type == DType::bf16 ? -1 : -1.7;
  const Tensor w = Tensor::empty({n, d}, DType::f64);
  for (int64_t i = 0; i < n * d; ++i) w.data<double>()[i] = f.x[size_t(i)] * (i % d % 2 == 0 ? even : odd);
  f.w = w.to(type).to(DType::f64).to_vector<double>();
  return f;
}

Tensor found_product(Kernels& kernels, const Factors& f) {
  const Tensor y = Tensor::empty({f.n, f.n}, f.type == DType::f64 ? DType::f64 : DType::f32);
  kernels.symmetric_product(y, Tensor::from({f.n, f.d}, f.x).to(f.type), Tensor::from({f.n, f.d}, f.w).to(f.type));
  return y;
}

// The largest difference from sums in f64, in units of d, the size of the sums on the diagonal.
double error(const Tensor& found, const Factors& f) {
  const auto y = found.to(DType::f64).to_vector<double>();
  double largest = 0;
  for (int64_t i = 0; i < f.n; ++i) {
    for (int64_t j = 0; j < f.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < f.d; ++k) sum += f.x[size_t(i * f.d + k)] * f.w[size_t(j * f.d + k)];
      const double difference = std::abs(y[size_t(i * f.n + j)] - sum);
      if (!(difference <= largest)) largest = difference;
    }
  }
  return largest / double(f.d);
}

bool is_symmetric(const Tensor& y) {
  const auto numbers = y.to(DType::f64).to_vector<double>();
  const auto n = size_t(y.rows());
  for (size_t i = 0; i < n * n; ++i) {
    if (numbers[i] != numbers[i % n * n + i / n]) return false;
  }
  return true;
}

// Sizes below, at and above those of tiles and of vectors, and several blocks of the summed index.
const std::vector<std::pair<int64_t, int64_t>> kSymmetricSizes = {
    {0, 3}, {1, 1}, {3, 7}, {31, 5}, {33, 64}, {128, 96}, {129, 129}, {300, 17}, {257, 1}, {70, 1500}, {300, 2100}};

}  // namespace

TEST_CASE("symmetric products are those of loops, with equal bits on both sides of the diagonal") {
  const EmulatedBf16 emulated;
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const auto& [n, d] : kSymmetricSizes) {
      CAPTURE(n);
      CAPTURE(d);
      for (const auto& [type, tolerance] :
           {std::pair(DType::f64, 4e-15), std::pair(DType::f32, 2e-6), std::pair(DType::bf16, 2e-6)}) {
        const Factors f = factors(n, d, type);
        const Tensor y = found_product(*kernels, f);
        CHECK(error(y, f) < tolerance);
        CHECK(is_symmetric(y));
      }
    }
  }
}

TEST_CASE("symmetric products do not depend on the number of threads") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  for (const DType type : {DType::f32, DType::bf16}) {
    const Factors f = factors(300, 170, type);
    std::vector<std::vector<float>> results;
    for (const int n : {1, 3}) {
      const ThreadsInScope scope(n);
      results.push_back(found_product(cpu_kernels(), f).to_vector<float>());
    }
    CHECK(results[0] == results[1]);
  }
}

}  // namespace gyre::test
