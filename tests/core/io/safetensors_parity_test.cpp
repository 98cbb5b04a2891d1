// Compares results for small valid and invalid files with those of the Python package
// (golden/make_safetensors_cases.py).
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors.h"
#include "tests/source_dir.h"
#include "tests/temporary_directory.h"

using namespace gyre;
using nlohmann::json;

namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

void check_tensors(const SafetensorsFile& file, const json& expected) {
  CHECK(file.entries().size() == expected.size());
  for (const auto& [name, tensor] : expected.items()) {
    const auto* entry = file.find(name);
    REQUIRE(entry != nullptr);
    CHECK(entry->dtype == tensor["dtype"].get<std::string>());
    CHECK(entry->shape == tensor["shape"].get<std::vector<int64_t>>());
    const auto bytes = file.bytes(*entry);
    CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == from_hex(tensor["hex"]));
  }
}

}  // namespace

TEST_CASE("safetensors: every rule of the format, compared with the Python package") {
  const TemporaryDirectory directory;
  const Path path = directory / "case.safetensors";
  size_t read = 0, refused = 0, stricter = 0;
  for (const json& item : json::parse(read_file(source_dir() / "tests/core/golden/safetensors_cases.json"))) {
    const std::string rule = item["rule"], expected = item.value("expect", "");
    CAPTURE(rule);
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << from_hex(item["file"]);
    stricter += item.contains("stricter");
    try {
      const SafetensorsFile file(path);
      CHECK_MESSAGE(expected.empty(), "read, but expected: ", expected);
      check_tensors(file, item["python"]["tensors"]);
      ++read;
    } catch (const Error& error) {
      const std::string message = error.what();
      CAPTURE(message);
      CHECK_FALSE(expected.empty());
      CHECK(message.find("[safetensors] " + path.string() + ": ") == 0);
      CHECK(message.find(expected) != message.npos);
      ++refused;
    }
  }
  CHECK(read > 30);
  CHECK(refused > 50);
  CHECK(stricter == 9);
}
