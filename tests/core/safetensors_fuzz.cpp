// Damaged safetensors: every one is read or refused with an Error, within the bounds of its bytes and in memory that is
// a small multiple of its size.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/safetensors.h"
#include "tests/core/allocation_peak.h"
#include "tests/fuzz.h"
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

// Where the strings (with their quotes), numbers and signs of a JSON text lie.
std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') {
      while (end < text.size() && (text[end] != '"' || text[end - 1] == '\\')) ++end;
      end = std::min(end + 1, text.size());
    } else if (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '-') {
      while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) ++end;
    }
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

std::string strange_number(Fuzz& fuzz) {
  static const std::vector<std::string> numbers{"0",
                                                "1",
                                                "2",
                                                "4",
                                                "8",
                                                "-1",
                                                "-0",
                                                "1.0",
                                                "1e3",
                                                "1e400",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "18446744073709551615",
                                                "18446744073709551616",
                                                "4294967296",
                                                "2305843009213693952",
                                                "99999999999999999999999999",
                                                "00",
                                                "0x1"};
  return fuzz.one_in(3) ? std::to_string(fuzz.below(64)) : fuzz.pick(numbers);
}

std::string strange_string(Fuzz& fuzz) {
  static const std::vector<std::string> strings{R"("__metadata__")",
                                                R"("dtype")",
                                                R"("shape")",
                                                R"("data_offsets")",
                                                R"("F32")",
                                                R"("F4")",
                                                R"("U8")",
                                                R"("I64")",
                                                R"("F16")",
                                                R"("f32")",
                                                R"("")",
                                                R"("\ud800")",
                                                R"("\u0000")",
                                                "\"\xff\"",
                                                "\"\xc3\"",
                                                "\"\\\"",
                                                "\"" + std::string(3000, 'x') + "\""};
  return fuzz.pick(strings);
}

std::string strange_value(Fuzz& fuzz) {
  static const std::vector<std::string> values{"null",        "true",  "{}",      "[]", "[[]]",
                                               R"({"a":{}})", "[0,0]", "[1,2,3]", ","};
  if (fuzz.one_in(8)) return std::string(1 + fuzz.below(5000), fuzz.one_in(2) ? '[' : '{');
  if (fuzz.one_in(8)) return std::string(1 + fuzz.below(200), ' ');
  return fuzz.pick(values);
}

// Another token of the same kind, one too many or one too few; two changed places.
void damage_json(Fuzz& fuzz, std::string& text) {
  const std::vector<std::string_view> tokens = tokens_of(text);
  if (tokens.empty()) return;
  const std::string_view token = fuzz.pick(tokens), other = fuzz.pick(tokens);
  const auto at = static_cast<size_t>(token.data() - text.data());
  const bool is_number = std::isdigit(static_cast<unsigned char>(token[0])) != 0;
  std::string instead(other);
  if (!fuzz.one_in(4)) {
    instead = is_number ? strange_number(fuzz) : token[0] == '"' ? strange_string(fuzz) : strange_value(fuzz);
  }
  switch (fuzz.below(4)) {
    case 0:
      text.insert(at, instead);
      break;
    case 1:
      text.erase(at, token.size());
      break;
    default:
      text.replace(at, token.size(), instead);
  }
}

// The file, mostly with the true length of its header.
std::vector<char> damaged_file(Fuzz& fuzz) {
  Parts file = fuzz.pick(good_files());
  for (size_t i = 1 + fuzz.below(2); i > 0; --i)
    fuzz.one_in(3) ? fuzz.damage(file.header) : damage_json(fuzz, file.header);
  if (fuzz.one_in(8)) fuzz.damage(file.data);
  uint64_t length = file.header.size();
  if (fuzz.one_in(16)) length = fuzz.one_in(2) ? fuzz.number() >> fuzz.below(64) : length + fuzz.below(9) - 4;
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += file.header + file.data;
  if (fuzz.one_in(16)) fuzz.damage(bytes);
  return {bytes.begin(), bytes.end()};  // exactly as long as the file, so that a sanitizer sees a step beyond
}

// Every rule that an accepted file keeps, found again in another way.
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
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
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

TEST_CASE("safetensors: damaged files are read or refused, in little memory") {
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
  MESSAGE(accepted, " read, ", refused, " refused");
}
