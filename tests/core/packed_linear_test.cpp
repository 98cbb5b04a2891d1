// Products with packed weights, in fp32, bf16 and int8, and the best next tokens from them.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/core/option_list.h"
#include "gyre/core/random.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "tests/emulated_bf16.h"
#include "tests/errors.h"
#include "tests/gpu.h"
#include "tests/source_dir.h"
#include "tests/threads_in_scope.h"

namespace gyre::test {
namespace {

Tensor random_matrix(int64_t n, int64_t k, uint64_t seed) {
  const Tensor x = Tensor::empty({n, k});
  for (int64_t i = 0; i < n * k; ++i)
    x.data<float>()[i] = float((1 + double(i / k % 5)) * random_normal(seed, uint64_t(n), uint64_t(i)));
  return x;
}

// The integers of a row and its scale, rounded one by one.
struct IntegerRow {
  float scale = 0;
  std::vector<int32_t> integers;
};

IntegerRow rounded(const Tensor& x, int64_t row) {
  const auto numbers = x.slice(row, row + 1).to_vector<float>();
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  IntegerRow result{largest / 127, {}};
  for (const float number : numbers)
    result.integers.push_back(largest > 0 ? int32_t(std::nearbyint(number * (127 / largest))) : 0);
  return result;
}

float int8_product(const IntegerRow& a, const IntegerRow& b) {
  int64_t sum = 0;
  for (size_t k = 0; k < a.integers.size(); ++k) sum += int64_t(a.integers[k]) * b.integers[k];
  return float(sum) * a.scale * b.scale;
}

// The operands of the products that a precision computes.
Tensor operands(const Tensor& x, Precision precision) { return precision == Precision::bf16 ? x.to(DType::bf16) : x; }

Tensor packed_product(Kernels& kernels, const Tensor& x, const Tensor& w, Precision precision, const Tensor& bias = {},
                      std::optional<Activation> activation = {}) {
  const Tensor y = Tensor::empty({x.rows(), w.rows()});
  kernels.packed_linear(y, operands(x, precision), kernels.pack_weight(w, precision), bias, activation);
  return y;
}

std::vector<double> exact_product(const Tensor& x, const Tensor& w) {
  std::vector<double> y;
  for (int64_t i = 0; i < x.rows(); ++i) {
    for (int64_t j = 0; j < w.rows(); ++j) {
      double sum = 0;
      for (int64_t k = 0; k < x.cols(); ++k)
        sum += double(x.data<float>()[i * x.cols() + k]) * double(w.data<float>()[j * x.cols() + k]);
      y.push_back(sum);
    }
  }
  return y;
}

// Sizes below, at and above those of tiles, vectors and groups; rows for one tile, for few and for many.
constexpr std::array<int64_t, 3> kPackedSizes[] = {{1, 1, 1},     {2, 7, 3},     {3, 33, 64}, {5, 64, 37},  {14, 31, 4},
                                                   {15, 100, 65}, {29, 130, 96}, {9, 5, 700}, {70, 65, 129}};

const std::vector<Precision> kPrecisions = {Precision::fp32, Precision::bf16, Precision::int8};

}  // namespace

TEST_CASE("int8 products are those of integers, with the same bits on every CPU") {
  for (Kernels* kernels : available_cpu_kernels()) {
    CAPTURE(kernels->name());
    for (const auto& [n, o, d] : kPackedSizes) {
      CAPTURE(n);
      CAPTURE(o);
      CAPTURE(d);
      const Tensor x = random_matrix(n, d, 1), w = random_matrix(o, d, 2);
      if (n > 2) std::fill_n(x.data<float>() + d, d, 0.0F);
      const auto y = packed_product(*kernels, x, w, Precision::int8).to_vector<float>();
      bool equal = true;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < o; ++j) equal &= y[size_t(i * o + j)] == int8_product(rounded(x, i), rounded(w, j));
      CHECK(equal);
    }
  }
}

TEST_CASE("int8 products are those of numpy") {
  const auto golden = nlohmann::json::parse(read_file(source_dir() / "tests/core/golden/packed_int8.json"));
  const auto w = golden["w"].get<std::vector<float>>(), x = golden["x"].get<std::vector<float>>();
  const auto expected = golden["y"].get<std::vector<double>>();
  for (Kernels* kernels : available_cpu_kernels()) {
    const Tensor y = packed_product(*kernels, Tensor::from({5, 39}, x), Tensor::from({35, 39}, w), Precision::int8);
    REQUIRE(y.size() == int64_t(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i)
      CHECK(double(y.data<float>()[i]) == doctest::Approx(expected[i]).epsilon(3e-7));
  }
}

TEST_CASE("the largest integers of int8 do not overflow") {
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const float sign : {1.0F, -1.0F}) {
      constexpr int64_t kMost = 65536;  // columns
      const Tensor x = Tensor::empty({3, kMost}), w = Tensor::empty({40, kMost});
      for (float& number : x.span<float>()) number = -127;
      for (float& number : w.span<float>()) number = 127 * sign;
      for (const float y : packed_product(*kernels, x, w, Precision::int8).to_vector<float>())
        CHECK(y == -sign * 127 * 127 * kMost);
    }
  }
}

TEST_CASE("weights of too many columns for sums in 32 bits are rejected") {
  CHECK_THROWS_WITH_AS(cpu_kernels().pack_weight(Tensor::zeros({1, 65537}), Precision::int8),
                       "[packed weight] expected at most 65536 columns for int8, got 65537", Error);
}

TEST_CASE("packed products in fp32 and bf16 are those of f64, with bias and activation") {
  const EmulatedBf16 emulated;
  for (Kernels* kernels : available_cpu_kernels()) {
    CAPTURE(kernels->name());
    for (const auto& [n, o, d] : kPackedSizes) {
      for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        const auto exact_in = [&](const Tensor& t) { return operands(t, precision).to(DType::f32); };
        const Tensor x = exact_in(random_matrix(n, d, 1)), w = exact_in(random_matrix(o, d, 2)),
                     bias = random_matrix(1, o, 3).reshape({o});
        const std::vector<double> sums = exact_product(x, w);
        const Tensor plain = packed_product(*kernels, x, w, precision);
        const Tensor relu = packed_product(*kernels, x, w, precision, bias, Activation::relu);
        double error = 0;
        for (int64_t i = 0; i < n * o; ++i) {
          const double with_bias = sums[size_t(i)] + double(bias.data<float>()[i % o]);
          error = std::max(error, std::abs(double(plain.data<float>()[i]) - sums[size_t(i)]));
          error = std::max(error, std::abs(double(relu.data<float>()[i]) - std::max(0.0, with_bias)));
        }
        CHECK(error < 1e-5 * double(d));
      }
    }
  }
}

TEST_CASE("packed products of bf16 rows can be rounded to bf16") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  const Tensor x = random_matrix(6, 40, 1).to(DType::bf16), w = random_matrix(50, 40, 2);
  const PackedWeight packed = cpu_kernels().pack_weight(w, Precision::bf16);
  const Tensor wide = Tensor::empty({6, 50}), narrow = Tensor::empty({6, 50}, DType::bf16);
  cpu_kernels().packed_linear(wide, x, packed, {}, Activation::gelu);
  cpu_kernels().packed_linear(narrow, x, packed, {}, Activation::gelu);
  CHECK(narrow.to(DType::f32).to_vector<float>() == wide.to(DType::bf16).to(DType::f32).to_vector<float>());
}

TEST_CASE("a number that is not finite makes the int8 products of its row NaN, and only these") {
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      const Tensor x = random_matrix(4, 20, 1), w = random_matrix(9, 20, 2);
      x.data<float>()[2 * 20 + 3] = bad;
      const Tensor y = packed_product(*kernels, x, w, Precision::int8);
      for (int64_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y.data<float>()[i]) == (i / 9 == 2));
    }
  }
}

namespace {

struct Best {
  std::vector<float> values;
  std::vector<int32_t> columns;
};

Best best_tokens(Kernels& kernels, const Tensor& x, const Tensor& w, Precision precision, int64_t k, int64_t also) {
  const Tensor values = Tensor::empty({x.rows(), k + 1}), columns = Tensor::empty({x.rows(), k}, DType::i32);
  kernels.packed_best_tokens(values, columns, operands(x, precision), kernels.pack_weight(w, precision), also);
  return {values.to_vector<float>(), columns.to_vector<int32_t>()};
}

Best best_of_log_softmax(Kernels& kernels, const Tensor& x, const Tensor& w, Precision precision, int64_t k,
                         int64_t also) {
  const Tensor logits = packed_product(kernels, x, w, precision);
  const Tensor values = Tensor::empty({x.rows(), k + 1}), columns = Tensor::empty({x.rows(), k}, DType::i32);
  kernels.log_softmax(logits, logits);
  kernels.topk(values, columns, logits, also);
  return {values.to_vector<float>(), columns.to_vector<int32_t>()};
}

}  // namespace

TEST_CASE("the best tokens of a packed output projection are those of log-softmax and top-k") {
  const EmulatedBf16 emulated;
  for (Kernels* kernels : available_cpu_kernels()) {
    CAPTURE(kernels->name());
    for (const Precision precision : kPrecisions) {
      for (const auto& [n, v, k] : {std::array<int64_t, 3>{1, 7, 3}, {3, 2, 5}, {17, 512, 4}, {30, 1100, 11}}) {
        CAPTURE(v);
        const Tensor x = random_matrix(n, 24, 1), w = random_matrix(v, 24, 2);
        for (const int64_t also : {int64_t{0}, v - 1}) {
          const Best found = best_tokens(*kernels, x, w, precision, k, also);
          const Best expected = best_of_log_softmax(*kernels, x, w, precision, k, also);
          CHECK(found.columns == expected.columns);
          for (size_t i = 0; i < expected.values.size(); ++i)
            if (expected.values[i] != found.values[i])  // both may be -infinity
              CHECK(found.values[i] == doctest::Approx(expected.values[i]).epsilon(1e-5));
        }
      }
    }
  }
}

TEST_CASE("of equal logits the lower column comes first, and NaN leaves no best token") {
  for (Kernels* kernels : available_cpu_kernels()) {
    const Tensor x = random_matrix(2, 8, 1), w = random_matrix(1300, 8, 2);
    for (int64_t j = 0; j < 1300; ++j) std::copy_n(w.data<float>() + j % 3 * 8, 8, w.data<float>() + j * 8);
    x.data<float>()[8] = NAN;
    const Best best = best_tokens(*kernels, x, w, Precision::fp32, 5, 1);
    for (int i = 1; i < 5; ++i) CHECK(best.columns[size_t(i)] == best.columns[0] + 3 * i);
    CHECK(best.columns[0] < 3);
    for (int i = 5; i < 10; ++i) CHECK(best.columns[size_t(i)] == -1);
    CHECK(std::isnan(best.values[11]));
  }
}

TEST_CASE("packed products and best tokens do not depend on the number of threads") {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  for (const Precision precision : kPrecisions) {
    for (const int64_t n : {3, 90}) {
      const Tensor x = random_matrix(n, 70, 1), w = random_matrix(2100, 70, 2);
      std::vector<std::vector<float>> results;
      for (const int count : {1, 3}) {
        const ThreadsInScope scope(count);
        results.push_back(packed_product(cpu_kernels(), x, w, precision).to_vector<float>());
        const Best best = best_tokens(cpu_kernels(), x, w, precision, 9, 2);
        results.back().insert(results.back().end(), best.values.begin(), best.values.end());
        results.back().insert(results.back().end(), best.columns.begin(), best.columns.end());
      }
      CHECK(results[0] == results[1]);
    }
  }
}

TEST_CASE("packed weights are checked, and refused by GPUs") {
  Kernels& kernels = cpu_kernels();
  const Tensor w = random_matrix(4, 3, 1);
  CHECK(contains(error_of([&] { kernels.pack_weight(w, Precision::tf32); }), "expected fp32, bf16 or int8"));
  CHECK(contains(error_of([&] { kernels.pack_weight(w.to(DType::f64), Precision::fp32); }),
                 "expected f32 (o,d), got f64"));
  CHECK(contains(error_of([&] {
                   kernels.packed_linear(Tensor::empty({2, 4}), Tensor::zeros({2, 5}),
                                         kernels.pack_weight(w, Precision::int8), {}, {});
                 }),
                 "expected rows of 3 numbers, got 5"));
  CHECK(contains(error_of([&] { kernels_on(kVirtualGpu).pack_weight(w, Precision::fp32); }), "for CPUs"));
  if (Kernels* gpu = test_gpu()) CHECK(contains(error_of([&] { gpu->pack_weight(w, Precision::fp32); }), "for CPUs"));
}

TEST_CASE("int8 is a precision of trained models on CPUs") {
  CHECK(precision_on(cpu_kernels(), Precision::int8) == Precision::int8);
  std::optional<Precision> precision = Precision::int8;
  const OptionValue training =
      one_of(&precision, "auto", {std::begin(kTrainingPrecisions), std::end(kTrainingPrecisions)});
  CHECK(contains(error_of([&] { training.read({"int8"}); }), "expected one of fp32, tf32, bf16, auto; got 'int8'"));
  const OptionValue inference = one_of(&precision, "auto");
  CHECK(contains(error_of([&] { inference.read({"int4"}); }), "expected one of fp32, tf32, bf16, int8, auto"));
  CHECK(inference.toml() == "\"int8\"");
  inference.read({"auto"});
  CHECK(!precision);
  CHECK(inference.text() == "auto");
  if (Kernels* gpu = test_gpu())
    CHECK(contains(error_of([&] { precision_on(*gpu, Precision::int8); }), "int8 is for CPUs"));
}

}  // namespace gyre::test
