// Tensors: contiguous row-major arrays with reference-counted storage, on the CPU or a GPU. A Tensor is a handle:
// copies share the storage. reshape() and slice() along the leading axis return views; there are no other views (no
// strides). A default-constructed Tensor is undefined and means "none" where a tensor is optional.
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
#include <utility>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/error.h"
#include "gyre/core/float16.h"

namespace gyre {

enum class DType : uint8_t { f32, f64, bf16, i32 };

template <>
inline constexpr std::pair<DType, std::string_view> kEnumNames<DType>[] = {
    {DType::f32, "f32"}, {DType::f64, "f64"}, {DType::bf16, "bf16"}, {DType::i32, "i32"}};

std::string_view to_string(DType dtype);
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
};
std::string to_string(Device device);  // "cpu", "cuda:0"

// The sizes of up to four axes. Constructors throw Error for more axes or a negative size.
class Shape {
 public:
  static constexpr int kMaxRank = 4;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);
  int rank() const { return rank_; }
  // A negative axis counts from the end: -1 is the last axis.
  int64_t operator[](int axis) const { return dims_[size_t(axis < 0 ? rank_ + axis : axis)]; }
  void set(int axis, int64_t n) { dims_[size_t(axis)] = n; }
  int64_t elements() const;  // throws Error if their bytes cannot be counted in 64 bits
  bool operator==(const Shape& other) const = default;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};
std::string to_string(const Shape& shape);  // "(3, 4)"

class Tensor {
 public:
  Tensor() = default;
  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = {});  // uninitialized
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = {});
  // Copies the values to a tensor on the CPU. Throws Error if their number does not match the shape.
  template <class T>
  static Tensor from(const Shape& shape, std::span<const T> values);
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values) {
    return from(shape, std::span<const T>(values));
  }
  // A view of memory that `owner` keeps alive, such as a mapped file or an arena.
  static Tensor view(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner, Device device = {});
  Tensor like() const { return empty(shape_, dtype_, device_); }  // same shape, dtype and device, uninitialized

  bool defined() const { return data_ != nullptr || owner_ != nullptr; }
  explicit operator bool() const { return defined(); }
  const Shape& shape() const { return shape_; }
  int64_t dim(int axis) const { return shape_[axis]; }
  int64_t size() const { return shape_.elements(); }
  int64_t cols() const { return shape_[-1]; }                         // size of the last axis
  int64_t rows() const { return cols() == 0 ? 0 : size() / cols(); }  // product of the other axes
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  size_t bytes() const { return size_t(size()) * dtype_bytes(dtype_); }

  // Pointer to the elements, on the tensor's device. As with pointers, a const Tensor gives access to mutable elements.
  // Throws Error if T is not the element type.
  template <class T>
  T* data() const {
    if (dtype_ != dtype_of<T>()) wrong_dtype(dtype_of<T>());
    return static_cast<T*>(data_);
  }
  void* raw() const { return data_; }
  // The elements of a tensor on the CPU. Throws Error if the tensor is on another device or T is not the element type.
  template <class T>
  std::span<T> span() const {
    if (device_ != Device{}) not_on_cpu();
    return {data<T>(), size_t(size())};
  }

  // All of these throw Error for wrong shapes, dtypes or devices.
  Tensor reshape(const Shape& shape) const;        // a view with the same number of elements
  Tensor slice(int64_t begin, int64_t end) const;  // a view of rows [begin, end) of the leading axis
  Tensor clone() const;
  Tensor to(DType dtype) const;    // converts between f32, f64 and bf16, on the CPU; returns *this if it has the dtype
  Tensor to(Device device) const;  // copies to the device; returns *this if it is there
  Tensor to_cpu() const { return to(Device{}); }
  void zero() const;
  void copy_from(const Tensor& source) const;  // source: a tensor of the same shape and dtype, on any device
  bool shares_storage(const Tensor& other) const { return owner_ == other.owner_; }
  const std::shared_ptr<void>& owner() const { return owner_; }  // keeps the storage alive
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
  require(int64_t(values.size()) == shape.elements(), "[tensor] shape ", shape, " needs ", shape.elements(),
          " values, got ", values.size());
  Tensor t = empty(shape, dtype_of<T>());
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

// Calls f(T{}), where T is the element type, float or double, and returns its result. Throws Error for other dtypes.
//   dispatch_float(x, [&]<class T>(T) { for (T& number : x.span<T>()) number *= 2; });
template <class F>
auto dispatch_float(const Tensor& t, F&& f) {
  if (t.dtype() == DType::f32) return f(float{});
  require(t.dtype() == DType::f64, "[dtype] expected f32 or f64, got ", t.dtype());
  return f(double{});
}

// A matrix view of a tensor on the CPU: non-owning, row-major. Builds with _GLIBCXX_ASSERTIONS check every index.
template <class T>
class MatrixSpan {
 public:
  MatrixSpan(std::span<T> elements, int64_t rows, int64_t cols) : elements_(elements), rows_(rows), cols_(cols) {}
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  std::span<T> row(int64_t i) const { return elements_.subspan(size_t(i * cols_), size_t(cols_)); }
  T& operator()(int64_t i, int64_t j) const { return row(i)[size_t(j)]; }

 private:
  std::span<T> elements_;
  int64_t rows_, cols_;
};

// Views a tensor as a matrix: the columns are the last axis, the rows all other axes, flattened. Throws Error if the
// tensor has another dtype or is not on the CPU.
template <class T>
MatrixSpan<T> matrix(const Tensor& t) {
  return {t.span<T>(), t.rows(), t.cols()};
}

}  // namespace gyre
