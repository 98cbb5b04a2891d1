// Reads numbers in the byte order of this machine and texts from the content of a file, for tests of file formats.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "gyre/core/error.h"

class ByteReader {
 public:
  explicit ByteReader(std::string content) : content_(std::move(content)) {}

  size_t place() const { return place_; }
  size_t left() const { return content_.size() - place_; }
  std::string take(size_t bytes) {
    gyre::require(bytes <= left(), "[test] expected ", bytes, " more bytes, got ", left());
    place_ += bytes;
    return content_.substr(place_ - bytes, bytes);
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  // A text after its length.
  template <class Length>
  std::string text() {
    return take(number<Length>());
  }

 private:
  std::string content_;
  size_t place_ = 0;
};
