// Reads GGUF files in tests, by the description of the format and without the code that writes them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/file.h"

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

  explicit GgufFile(const gyre::Path& path) : bytes_(gyre::read_file(path)) {
    gyre::require(take(4) == "GGUF" && number<uint32_t>() == 3, "[test] expected GGUF 3");
    const auto tensor_count = number<uint64_t>(), key_count = number<uint64_t>();
    for (uint64_t i = 0; i < key_count; ++i) {
      const std::string name = text();
      keys[name] = value(number<uint32_t>());
    }
    for (uint64_t i = 0; i < tensor_count; ++i) {
      Entry& entry = tensors[text()];
      const auto axes = number<uint32_t>();
      for (uint32_t axis = 0; axis < axes; ++axis) entry.sizes.push_back(number<uint64_t>());
      entry.type = number<uint32_t>();
      entry.offset = number<uint64_t>();
      gyre::require(entry.offset % 32 == 0, "[test] expected aligned tensors");
    }
    data = bytes_.substr((at_ + 31) / 32 * 32);
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
  std::string take(size_t count) {
    gyre::require(at_ + count <= bytes_.size(), "[test] the file ends early");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  template <class T>
  T number() {
    T x;
    std::memcpy(&x, take(sizeof x).data(), sizeof x);
    return x;
  }
  std::string text() {
    const auto size = number<uint64_t>();
    return take(size);
  }
  std::string value(uint32_t type) {
    switch (type) {
      case 0:
        return std::to_string(number<uint8_t>());
      case 4:
        return std::to_string(number<uint32_t>());
      case 5:
        return std::to_string(number<int32_t>());
      case 6:
        return gyre::concat(number<float>());
      case 7:
        return number<uint8_t>() == 0 ? "false" : "true";
      case 8:
        return text();
      default:
        break;
    }
    gyre::require(type == 9, "[test] unknown type of a value: ", type);
    const auto of = number<uint32_t>();
    const auto count = number<uint64_t>();
    std::string list;
    for (uint64_t i = 0; i < count; ++i) list += (i == 0 ? "" : "\n") + value(of);
    return list;
  }

  std::string bytes_;
  size_t at_ = 0;
};
