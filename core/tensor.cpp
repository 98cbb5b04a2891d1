#include "gyre/core/tensor.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "gyre/core/hardware/cuda.h"
#include "gyre/core/memory.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"

namespace gyre {
namespace {

constexpr int64_t kLargestElement = 8;  // bytes of the largest element type

template <class F>
void with_floats(const Tensor& t, F&& f) {
  if (t.dtype() == DType::f32) return f(float{});
  if (t.dtype() == DType::f64) return f(double{});
  require(t.dtype() == DType::bf16, "[tensor] conversion from or to ", t.dtype(), " is not supported");
  f(bfloat16{});
}

}  // namespace

// Not inline, because a table that the CPU kernels used would have several definitions in the program.
std::string_view to_string(DType dtype) { return enum_name(dtype); }

size_t dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::f64:
      return 8;
    case DType::bf16:
      return 2;
    case DType::i32:
      return 4;
  }
  return 0;
}

std::string to_string(Device device) {
  if (device == kVirtualGpu) return "virtual GPU";
  return device.kind == Device::Kind::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

Shape::Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) : rank_(int(dims.size())) {
  require(rank_ <= kMaxRank, "[shape] at most ", kMaxRank, " axes, got ", rank_);
  for (int64_t n : dims) require(n >= 0, "[shape] an axis must not be negative, got ", n);
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

int64_t Shape::elements() const {
  const auto end = dims_.begin() + rank_;
  if (std::find(dims_.begin(), end, 0) != end) return 0;
  int64_t n = kLargestElement;  // counts bytes, so that the size of the tensor in bytes does not overflow either
  for (int i = 0; i < rank_; ++i) {
    if (__builtin_mul_overflow(n, dims_[size_t(i)], &n))
      throw Error("[shape] ", *this, " has more elements than 64 bits can count");
  }
  return n / kLargestElement;
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  const size_t bytes = size_t(shape.elements()) * dtype_bytes(dtype);
  auto memory = device == Device{}      ? allocate(bytes)
                : device == kVirtualGpu ? virtual_allocate(bytes)
                                        : cuda_allocate(device.index, bytes);
  void* data = memory.get();
  return view(data, shape, dtype, std::move(memory), device);
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  Tensor t = empty(shape, dtype, device);
  t.zero();
  return t;
}

Tensor Tensor::view(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner, Device device) {
  Tensor t;
  t.data_ = data;
  t.owner_ = std::move(owner);
  t.shape_ = shape;
  t.dtype_ = dtype;
  t.device_ = device;
  return t;
}

Tensor Tensor::reshape(const Shape& shape) const {
  require(shape.elements() == size(), "[reshape] ", shape_, " has ", size(), " elements, ", shape, " needs ",
          shape.elements());
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

Tensor Tensor::slice(int64_t begin, int64_t end) const {
  require(shape_.rank() > 0 && 0 <= begin && begin <= end && end <= dim(0),
          "[slice] expected 0 <= begin <= end <= ", shape_.rank() ? dim(0) : 0, ", got ", begin, " and ", end);
  const size_t row = dim(0) == 0 ? 0 : bytes() / size_t(dim(0));
  Tensor t = *this;
  t.shape_.set(0, end - begin);
  t.data_ = static_cast<std::byte*>(data_) + size_t(begin) * row;
  return t;
}

Tensor Tensor::clone() const {
  Tensor t = like();
  t.copy_from(*this);
  return t;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  if (device_ != Device{}) not_on_cpu();
  Tensor t = empty(shape_, dtype);
  with_floats(*this, [&]<class From>(From) {
    with_floats(t, [&]<class To>(To) {
      std::transform(data<From>(), data<From>() + size(), t.data<To>(), [](From x) {
        if constexpr (std::is_same_v<To, bfloat16>) return To(float(x));
        return To(x);
      });
    });
  });
  return t;
}

Tensor Tensor::to(Device device) const {
  if (device == device_) return *this;
  Tensor t = empty(shape_, dtype_, device);
  t.copy_from(*this);
  return t;
}

void Tensor::zero() const {
  if (bytes() == 0) return;
  if (device_ == kVirtualGpu) return virtual_zero(bytes());
  if (device_ != Device{}) return cuda_zero(device_.index, data_, bytes());
  std::memset(data_, 0, bytes());
}

void Tensor::copy_from(const Tensor& source) const {
  require(shape_ == source.shape_ && dtype_ == source.dtype_, "[tensor] cannot copy ", source.shape_, " ",
          source.dtype_, " to ", shape_, " ", dtype_);
  if (bytes() == 0) return;
  if (device_ == kVirtualGpu || source.device_ == kVirtualGpu)
    return virtual_copy(data_, device_, source.device_, bytes());
  if (device_ != Device{} || source.device_ != Device{}) {
    return cuda_copy(data_, device_, source.data_, source.device_, bytes());
  }
  std::memcpy(data_, source.data_, bytes());
}

void Tensor::wrong_dtype(DType wanted) const { throw Error("[tensor] expected ", wanted, ", got ", dtype_); }

void Tensor::not_on_cpu() const { throw Error("[tensor] expected a tensor on the CPU, got one on ", device_); }

}  // namespace gyre
