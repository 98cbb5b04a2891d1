// The k largest values of each row, on the CPU and, if there is one, on the GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gyre/core/kernels/kernels.h"
#include "gyre/core/random.h"
#include "tests/all_kernels.h"

using namespace gyre;

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
