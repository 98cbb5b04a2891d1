// Tensors: reference-counted storage, contiguous, row-major. Reshape and leading-axis slice are the only views.
// A Tensor is a handle: copies share the storage. An undefined Tensor (default constructed) stands for "none".
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/bfloat16.h"
#include "core/error.h"

namespace gyre {

enum class DType : uint8_t { f32, f64, bf16, i32 };
std::string_view dtype_name(DType dtype);
size_t dtype_bytes(DType dtype);

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<bfloat16>() {
  return DType::bf16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::i32;
}

struct Device {
  enum class Kind : uint8_t { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
  std::string text() const;  // "cpu", "cuda:0"
};

// Up to four axes.
class Shape {
 public:
  static constexpr int kMaxRank = 4;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);
  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[size_t(axis < 0 ? rank_ + axis : axis)]; }
  void set(int axis, int64_t n) { dims_[size_t(axis)] = n; }
  int64_t elements() const;
  bool operator==(const Shape& other) const = default;
  std::string text() const;  // "(3, 4)"

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

class Tensor {
 public:
  Tensor() = default;
  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = {});
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = {});
  template <class T>
  static Tensor from(const Shape& shape, std::span<const T> values);
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values) {
    return from(shape, std::span<const T>(values));
  }
  // A view of memory that `owner` keeps alive (a file map, an arena).
  static Tensor view(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner, Device device = {});
  Tensor like() const { return empty(shape_, dtype_, device_); }  // same shape and type, not initialised

  bool defined() const { return data_ != nullptr || owner_ != nullptr; }
  explicit operator bool() const { return defined(); }
  const Shape& shape() const { return shape_; }
  int64_t dim(int axis) const { return shape_[axis]; }
  int64_t size() const { return shape_.elements(); }
  int64_t cols() const { return shape_[-1]; }                         // the last axis
  int64_t rows() const { return cols() == 0 ? 0 : size() / cols(); }  // all the others
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  size_t bytes() const { return size_t(size()) * dtype_bytes(dtype_); }

  // Handles are like pointers: a const Tensor still gives mutable elements. They lie on the tensor's device.
  template <class T>
  T* data() const {
    if (dtype_ != dtype_of<T>()) wrong_dtype(dtype_of<T>());
    return static_cast<T*>(data_);
  }
  void* raw() const { return data_; }
  // For loops on the CPU: an Error for elements on another device.
  template <class T>
  std::span<T> span() const {
    if (device_ != Device{}) not_on_cpu();
    return {data<T>(), size_t(size())};
  }

  Tensor reshape(const Shape& shape) const;
  Tensor slice(int64_t begin, int64_t end) const;  // along the leading axis
  Tensor clone() const;
  Tensor to(DType dtype) const;    // between f32, f64 and bf16; on the CPU
  Tensor to(Device device) const;  // itself where it is there already
  Tensor to_cpu() const { return to(Device{}); }
  void zero() const;
  void copy_from(const Tensor& source) const;  // same shape and type, from any device
  bool shares_storage(const Tensor& other) const { return owner_ == other.owner_; }
  const std::shared_ptr<void>& owner() const { return owner_; }  // what keeps the elements alive
  template <class T>
  std::vector<T> to_vector() const {
    const auto elements = span<T>();
    return {elements.begin(), elements.end()};
  }

 private:
  [[noreturn]] void wrong_dtype(DType wanted) const;
  [[noreturn]] void not_on_cpu() const;

  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
  Shape shape_;
  DType dtype_ = DType::f32;
  Device device_;
};

template <class T>
Tensor Tensor::from(const Shape& shape, std::span<const T> values) {
  require(int64_t(values.size()) == shape.elements(), "[tensor] shape ", shape.text(), " needs ", shape.elements(),
          " values, got ", values.size());
  Tensor t = empty(shape, dtype_of<T>());
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

}  // namespace gyre
