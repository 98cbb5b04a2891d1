#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/float16.h"
#include "gyre/core/io/safetensors.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

// A file with one tensor "a" of these elements. The header has an odd length, so that the elements are unaligned.
template <class T>
SafetensorsFile file_of(const TemporaryDirectory& directory, const std::string& dtype, const std::vector<T>& values) {
  const size_t bytes = values.size() * sizeof(T);
  std::string header = R"({"a":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(values.size()) +
                       R"(],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
  if (header.size() % 2 == 0) header += ' ';
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  file += header + std::string(reinterpret_cast<const char*>(values.data()), bytes);
  std::filesystem::remove(directory / "f");
  write_file(directory / "f", file);
  return SafetensorsFile(directory / "f");
}

template <class To, class T>
std::vector<To> read_as(const std::string& dtype, const std::vector<T>& values) {
  const TemporaryDirectory directory;
  const SafetensorsFile file = file_of(directory, dtype, values);
  const Tensor out = Tensor::empty({static_cast<int64_t>(values.size())}, dtype_of<To>());
  file.read(*file.find("a"), out);
  return out.to_vector<To>();
}

using Ints = std::vector<int32_t>;

}  // namespace

TEST_CASE("safetensors: every F16 number is converted exactly") {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  const std::vector<float> floats = read_as<float>("F16", halves);
  const std::vector<double> doubles = read_as<double>("F16", halves);
  size_t wrong = 0;
  for (size_t i = 0; i < halves.size(); ++i) {
    const int exponent = static_cast<int>(i >> 10 & 31), mantissa = static_cast<int>(i & 1023);
    double expected = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) expected = mantissa == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
    expected = std::copysign(expected, i >> 15 ? -1.0 : 1.0);
    const auto same = [&](double x) {
      return std::isnan(expected) ? std::isnan(x) : x == expected && std::signbit(x) == std::signbit(expected);
    };
    wrong += !same(floats[i]) + !same(doubles[i]);
  }
  CHECK(wrong == 0);
}

TEST_CASE("safetensors: floats are converted to the requested float type") {
  const std::vector<uint16_t> brains{0x3F80, 0xC049, 0x7F80, 0x0001};
  const float least = std::ldexp(1.0F, -133);
  CHECK(read_as<float>("BF16", brains) == std::vector<float>{1, -3.140625F, HUGE_VALF, least});
  CHECK(read_as<double>("BF16", brains) == std::vector<double>{1, -3.140625, HUGE_VAL, least});
  CHECK(read_as<float>("F64", std::vector<double>{0.1, -0.0, 1e300}) == std::vector<float>{0.1F, -0.0F, HUGE_VALF});
  CHECK(read_as<double>("F32", std::vector<float>{0.1F}) == std::vector<double>{double(0.1F)});
  const std::vector<bfloat16> rounded = read_as<bfloat16>("F32", std::vector<float>{1.00390625F, 1.01171875F});
  CHECK(rounded[0].bits == 0x3F80);  // halfway: to even
  CHECK(rounded[1].bits == 0x3F82);
  CHECK(read_as<bfloat16>("F16", std::vector<uint16_t>{0x3C00})[0].bits == 0x3F80);
  CHECK(read_as<float>("F16", std::vector<uint16_t>()).empty());
}

TEST_CASE("safetensors: integers are converted to i32 if they fit") {
  constexpr int32_t least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
  CHECK(read_as<int32_t>("I64", std::vector<int64_t>{-1, 0, least, most}) == Ints{-1, 0, least, most});
  CHECK(read_as<int32_t>("U64", std::vector<uint64_t>{7, most}) == Ints{7, most});
  CHECK(read_as<int32_t>("U32", std::vector<uint32_t>{7, most}) == Ints{7, most});
  CHECK(read_as<int32_t>("I16", std::vector<int16_t>{-32768, 5}) == Ints{-32768, 5});
  CHECK(read_as<int32_t>("U16", std::vector<uint16_t>{65535}) == Ints{65535});
  CHECK(read_as<int32_t>("I8", std::vector<int8_t>{-128, 127}) == Ints{-128, 127});
  CHECK(read_as<int32_t>("U8", std::vector<uint8_t>{255}) == Ints{255});
  CHECK(read_as<int32_t>("BOOL", std::vector<uint8_t>{1, 0}) == Ints{1, 0});
  CHECK_THROWS_WITH_AS(read_as<int32_t>("I64", std::vector<int64_t>{0, int64_t{most} + 1}),
                       doctest::Contains("tensor \"a\": element 1 is 2147483648, which i32 cannot hold"), Error);
  CHECK_THROWS_WITH_AS(read_as<int32_t>("U64", std::vector<uint64_t>{UINT64_MAX}),
                       doctest::Contains("element 0 is 18446744073709551615"), Error);
  CHECK_THROWS_AS(read_as<int32_t>("U32", std::vector<uint32_t>{1U << 31}), Error);
}

TEST_CASE("safetensors: conversions between integers and floats, or of other types, are rejected") {
  CHECK_THROWS_WITH_AS(read_as<float>("I64", std::vector<int64_t>{1}),
                       doctest::Contains("tensor \"a\": expected F32, got I64"), Error);
  CHECK_THROWS_WITH_AS(read_as<int32_t>("F32", std::vector<float>{1}), doctest::Contains("expected I32, got F32"),
                       Error);
  CHECK_THROWS_WITH_AS(read_as<float>("F8_E4M3", std::vector<uint8_t>{1}),
                       doctest::Contains("expected F32, got F8_E4M3"), Error);
  CHECK_THROWS_AS(read_as<float>("C64", std::vector<uint64_t>{1}), Error);
}
