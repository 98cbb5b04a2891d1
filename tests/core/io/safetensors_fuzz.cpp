// Fuzz test of safetensors: each damaged file is read or rejected with an Error, without accesses out of bounds, and
// with memory of at most a small multiple of its size.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors.h"
#include "tests/allocation_peak.h"
#include "tests/fuzz_json.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

struct Parts {
  std::string header;
  std::string data;
};

std::string entry(const char* dtype, const char* shape, const char* offsets) {
  return std::string(R"({"dtype":")") + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

const std::vector<Parts>& good_files() {
  static const std::vector<Parts> files{
      {"{}", ""},
      {R"({"a":)" + entry("F32", "[]", "[0,4]") + "}  ", std::string(4, '\1')},
      {R"({"__metadata__":{"format":"pt","größe":"\u00fc\n"},"w":)" + entry("F32", "[2,3]", "[0,24]") + R"(,"ids":)" +
           entry("I64", "[2]", "[24,40]") + R"(,"half":)" + entry("F16", "[1,2]", "[40,44]") + R"(,"none":)" +
           entry("F64", "[0,7]", "[44,44]") + R"(,"brain":)" + entry("BF16", "[2,1]", "[44,48]") + "}",
       std::string(48, '\2')},
      {R"({"é":)" + entry("BOOL", "[1,1,1,1,3]", "[4,7]") + R"(,"six":)" + entry("F6_E2M3", "[4]", "[0,3]") +
           R"(,"four":)" + entry("F4", "[2]", "[3,4]") + "}     ",
       std::string(7, '\3')},
  };
  return files;
}

// A damaged file. In most cases, the header length is correct.
std::vector<char> damaged_file(Fuzz& fuzz) {
  static const std::vector<std::string> words{"__metadata__", "dtype", "shape", "data_offsets", "F32",
                                              "F4",           "U8",    "I64",   "F16",          "f32"};
  Parts file = fuzz.pick(good_files());
  for (size_t i = 1 + fuzz.below(2); i > 0; --i)
    fuzz.one_in(3) ? fuzz.damage(file.header) : damage_json(fuzz, file.header, words);
  if (fuzz.one_in(8)) fuzz.damage(file.data);
  uint64_t length = file.header.size();
  if (fuzz.one_in(16)) length = fuzz.one_in(2) ? fuzz.number() >> fuzz.below(64) : length + fuzz.below(9) - 4;
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += file.header + file.data;
  if (fuzz.one_in(16)) fuzz.damage(bytes);
  return {bytes.begin(), bytes.end()};  // a copy of exact size, so that a sanitizer detects accesses beyond the end
}

// Checks an accepted file against the rules of the format, independently of the parser.
void check_accepted(const SafetensorsHeader& header, std::string_view file) {
  uint64_t end = 0;
  for (const auto& entry : header.entries) {
    CHECK(entry.begin == end);
    CHECK(entry.begin <= entry.end);
    end = entry.end;
  }
  CHECK(header.data_begin + end == file.size());
}

void read_all(const Path& path, std::string_view bytes) {
  put_file(path, bytes);
  const SafetensorsFile file(path);
  for (const auto& entry : file.entries()) {
    if (entry.shape.size() > Shape::kMaxRank) continue;
    for (const DType dtype : {DType::f32, DType::i32}) {
      const Tensor out = Tensor::empty(Shape(std::span<const int64_t>(entry.shape)), dtype);
      try {
        file.read(entry, out);
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace

TEST_CASE("safetensors: damaged files are read or rejected, with little memory") {
  constexpr size_t kFactor = 64, kFixed = 1 << 16;  // a JSON value of two bytes takes up to 40 while it is parsed
  const TemporaryDirectory directory;
  size_t accepted = 0, refused = 0;
  fuzz(30000, [&](Fuzz& fuzz) {
    const std::vector<char> bytes = damaged_file(fuzz);
    const std::string_view file(bytes.data(), bytes.size());
    const AllocationPeak peak;
    try {
      const SafetensorsHeader header = parse_safetensors_header(file, "damaged");
      ++accepted;
      check_accepted(header, file);
      read_all(directory / "accepted", file);
    } catch (const Error& error) {
      ++refused;
      CHECK(std::strlen(error.what()) < 1000);
    }
    CHECK(peak.bytes() < kFactor * bytes.size() + kFixed);
  });
  MESSAGE(accepted, " read, ", refused, " rejected");
}
