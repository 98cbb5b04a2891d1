// Reads GGUF files in tests, by the description of the format and without the code that writes them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"
#include "tests/byte_reader.h"

struct GgufFile {
  struct Entry {
    std::vector<uint64_t> sizes;  // sizes of the axes, the last axis first
    uint32_t type = 0;
    uint64_t offset = 0;  // bytes from the beginning of the data
  };
  // The values as text; the elements of a list are joined by line breaks.
  std::map<std::string, std::string> keys{};
  std::map<std::string, Entry> tensors{};
  std::string data{};

  explicit GgufFile(const gyre::Path& path) {
    ByteReader file(gyre::read_file(path));
    gyre::require(file.take(4) == "GGUF" && file.number<uint32_t>() == 3, "[test] expected GGUF 3");
    const auto tensor_count = file.number<uint64_t>(), key_count = file.number<uint64_t>();
    for (uint64_t i = 0; i < key_count; ++i) {
      const std::string name = file.text<uint64_t>();
      keys[name] = value(file, file.number<uint32_t>());
    }
    for (uint64_t i = 0; i < tensor_count; ++i) {
      Entry& entry = tensors[file.text<uint64_t>()];
      const auto axes = file.number<uint32_t>();
      for (uint32_t axis = 0; axis < axes; ++axis) entry.sizes.push_back(file.number<uint64_t>());
      entry.type = file.number<uint32_t>();
      entry.offset = file.number<uint64_t>();
      gyre::require(entry.offset % 32 == 0, "[test] expected aligned tensors");
    }
    file.take((32 - file.place() % 32) % 32);
    data = file.take(file.left());
  }

  std::vector<float> floats(const std::string& name) const {
    const Entry& entry = tensors.at(name);
    gyre::require(entry.type == 0, "[test] expected f32");
    uint64_t count = 1;
    for (const uint64_t size : entry.sizes) count *= size;
    std::vector<float> values(count);
    gyre::require(entry.offset + count * sizeof(float) <= data.size(), "[test] the file ends early");
    std::memcpy(values.data(), data.data() + entry.offset, count * sizeof(float));
    return values;
  }

 private:
  static std::string value(ByteReader& file, uint32_t type) {
    switch (type) {
      case 0:
        return std::to_string(file.number<uint8_t>());
      case 4:
        return std::to_string(file.number<uint32_t>());
      case 5:
        return std::to_string(file.number<int32_t>());
      case 6:
        return gyre::concat(file.number<float>());
      case 7:
        return file.number<uint8_t>() == 0 ? "false" : "true";
      case 8:
        return file.text<uint64_t>();
      default:
        break;
    }
    gyre::require(type == 9, "[test] unknown type of a value: ", type);
    const auto of = file.number<uint32_t>();
    const auto count = file.number<uint64_t>();
    std::string list;
    for (uint64_t i = 0; i < count; ++i) list += (i == 0 ? "" : "\n") + value(file, of);
    return list;
  }
};
