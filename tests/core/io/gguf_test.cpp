// GGUF files equal those of llama.cpp's package gguf (golden/make_gguf.py), to the byte.
#include "gyre/core/io/gguf.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "tests/errors.h"
#include "tests/gguf_reader.h"
#include "tests/source_dir.h"
#include "tests/temporary_directory.h"

using namespace gyre;

TEST_CASE_FIXTURE(InDirectory, "GGUF: the file of llama.cpp's package, to the byte") {
  const Path golden = source_dir() / "tests/core/golden";
  const auto numbers = Json::parse(read_file(golden / "gguf.json")).get<std::vector<float>>();
  const Tensor matrix = Tensor::from({3, 64}, numbers);
  const std::vector<GgufKey> keys{{"general.architecture", std::string("tiny")},
                                  {"a.count", uint32_t(4000000000)},
                                  {"a.number", 1e-5F},
                                  {"a.flag", true},
                                  {"a.text", std::string("Gr\u00fc\u00dfe\n")},
                                  {"a.bytes", std::vector<uint8_t>{0, 1, 255}},
                                  {"a.integers", std::vector<int32_t>{-1, 2, 3}},
                                  {"a.numbers", std::vector<float>{0.25F, -1e4F}},
                                  {"a.texts", std::vector<std::string>{"", "\u2581the"}}};
  std::vector<GgufTensor> tensors{
      {"vector", Tensor::from({3}, std::vector<float>(numbers.begin(), numbers.begin() + 3)), GgufType::f32}};
  for (const auto& [type, name] : kEnumNames<GgufType>) tensors.push_back({std::string(name), matrix, type});
  write_gguf(directory / "written.gguf", keys, tensors);
  CHECK(read_file(directory / "written.gguf") == read_file(golden / "reference.gguf"));

  const GgufFile file(directory / "written.gguf");
  CHECK(file.keys.at("a.texts") == "\n\u2581the");
  CHECK(file.keys.at("a.integers") == "-1\n2\n3");
  CHECK(file.floats("f32") == numbers);
  CHECK(file.tensors.at("q8_0").sizes == std::vector<uint64_t>{64, 3});
}

TEST_CASE("f16: every number survives, and others are rounded to the nearest, ties to even") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float16 half;
    half.bits = uint16_t(bits);
    if (std::isnan(float(half))) {
      CHECK(std::isnan(float(float16(float(half)))));
      continue;
    }
    if (float16(float(half)).bits != half.bits) FAIL_CHECK("bits ", bits);
    float16 next;
    next.bits = uint16_t(bits + 1);
    const bool is_last = (bits & 0x7FFF) >= 0x7BFF;  // the largest number, or infinity
    if (is_last) continue;
    const float middle = (float(half) + float(next)) / 2, even = float((bits & 1) != 0 ? next : half);
    if (float(float16(middle)) != even) FAIL_CHECK("between ", bits, " and the next");
    if (float16(std::nextafter(middle, float(half))).bits != half.bits) FAIL_CHECK("below the middle after ", bits);
    if (float16(std::nextafter(middle, float(next))).bits != next.bits) FAIL_CHECK("above the middle after ", bits);
  }
  CHECK(float16(65519.99F).bits == 0x7BFF);
  CHECK(float16(65520).bits == 0x7C00);
  CHECK(float16(-1e30F).bits == 0xFC00);
}

TEST_CASE("GGUF: a block of q8_0 whose scale has no finite reciprocal becomes zeros") {
  const Tensor tiny = Tensor::from({1, 32}, std::vector<float>(32, 1e-39F));
  CHECK(gguf_data({"a", tiny, GgufType::q8_0}) == std::string(34, '\0'));
}

TEST_CASE_FIXTURE(InDirectory, "GGUF: numbers that a type cannot hold are errors, and leave no file") {
  const auto error = [&](std::vector<float> values, GgufType type) {
    const Tensor tensor = Tensor::from({1, int64_t(values.size())}, values);
    return error_of([&] { write_gguf(directory / "a.gguf", {}, {{"blk.0.attn_q.weight", tensor, type}}); });
  };
  CHECK(error({1, 70000}, GgufType::f16) ==
        "[gguf] blk.0.attn_q.weight: expected numbers that f16 can hold, got 70000");
  CHECK(error({1, std::numeric_limits<float>::infinity()}, GgufType::f32) ==
        "[gguf] blk.0.attn_q.weight: expected numbers that f32 can hold, got inf");
  CHECK(contains(error({NAN}, GgufType::bf16), "expected numbers that bf16 can hold, got "));
  CHECK(
      contains(error(std::vector<float>(32, 1e7F), GgufType::q8_0), "expected numbers that q8_0 can hold, got 1e+07"));
  CHECK(error({1, 2, 3}, GgufType::q8_0) ==
        "[gguf] blk.0.attn_q.weight: expected rows of blocks of 32 for q8_0, got 3 elements");
  CHECK(!std::filesystem::exists(directory / "a.gguf"));
  const Tensor one = Tensor::zeros({1});
  CHECK(contains(error_of([&] {
                   write_gguf(directory / "a.gguf", {}, {{"a", one, GgufType::f32}, {"a", one, GgufType::f32}});
                 }),
                 "duplicate tensor name 'a'"));
}
