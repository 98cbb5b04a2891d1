#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "gyre/core/io/json.h"
#include "tools/page/tape/step_recorder.h"

using namespace gyre;

namespace {

Tensor counting(const Shape& shape) {
  std::vector<float> values(size_t(shape.elements()));
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::from(shape, values);
}

}  // namespace

TEST_CASE("small tensors are sampled whole, as base64 of little-endian fp32") {
  const TensorSample sample = sample_tensor(Tensor::from<float>({1, 2}, std::vector<float>{1, -2}), {});
  REQUIRE(sample.blocks.size() == 1);
  const Json json = sample_json(sample);
  CHECK(json.dump() ==
        R"({"shape":[1,2],"dtype":"f32","min":-2.0,"max":1.0,"norm":2.23606797749979,"nan":0,"infinite":0,)"
        R"("blocks":[{"row":0,"column":0,"rows":1,"columns":2,"data":"AACAPwAAAMA="}]})");
}

TEST_CASE("larger tensors keep the first rows, and the rest of the first columns") {
  const TensorSample sample = sample_tensor(counting({2, 3, 4}), {.whole = 20, .lines = 2});
  REQUIRE(sample.blocks.size() == 2);
  CHECK(sample.values[0] == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(sample.blocks[1].row == 2);
  CHECK(sample.values[1] == std::vector<float>{8, 9, 12, 13, 16, 17, 20, 21});
}

TEST_CASE("rows and columns of samples are limited in length") {
  const SampleLimits limits{.whole = 4, .lines = 1, .longest = 3};
  const TensorSample row = sample_tensor(counting({8}), limits), column = sample_tensor(counting({8, 1}), limits);
  REQUIRE(row.blocks.size() == 1);
  CHECK(row.values[0] == std::vector<float>{0, 1, 2});
  REQUIRE(column.blocks.size() == 2);
  CHECK(column.values[1] == std::vector<float>{1, 2, 3});
}

TEST_CASE("samples convert ids to fp32 and take scalars and empty tensors") {
  CHECK(sample_tensor(Tensor::from<int32_t>({2}, std::vector<int32_t>{7, 9}), {}).values[0] ==
        std::vector<float>{7, 9});
  CHECK(sample_tensor(Tensor::from<float>(Shape{}, std::vector<float>{3}), {}).values[0] == std::vector<float>{3});
  CHECK(sample_tensor(Tensor::zeros({0, 4}), {}).values[0].empty());
}
