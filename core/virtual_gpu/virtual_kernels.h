// The kernels of the virtual GPU, which report the work of the CUDA kernels, and the sizes that several of them share.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "gyre/core/kernels/gpu_blocks.h"
#include "gyre/core/kernels/gpu_kernels.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"

namespace gyre::virtual_gpu {

// Passes the work to the listener, if there is one.
void report(const GpuWork& work);

// The bytes of all tensors; undefined ones count as 0.
inline double bytes_of(std::initializer_list<Tensor> tensors) {
  double bytes = 0;
  for (const Tensor& t : tensors) bytes += t ? double(t.bytes()) : 0;
  return bytes;
}

// Reports one launch that reads or writes each of the tensors once, unless the first one is empty.
inline void report_pass(std::string_view name, std::initializer_list<Tensor> tensors, const DropoutMask& mask = {}) {
  const Tensor& first = *tensors.begin();
  if (first.size() == 0) return;
  report({.name = name, .bytes = bytes_of(tensors), .random_numbers = mask.rate > 0 ? double(first.size()) : 0});
}

inline Tensor temporary(const Shape& shape, DType dtype) { return Tensor::empty(shape, dtype, kVirtualGpu); }

// Sums of columns (core/cuda/columns.h) leave a row of partial sums per block of rows, which a second launch adds. A
// thread has the columns of a pack.
inline Tensor partial_sums(int64_t rows, int64_t columns, DType data) {
  const int64_t pack = pack_size(dtype_bytes(data));
  return temporary({column_blocks(rows, (columns + pack - 1) / pack).rows, columns}, statistics_dtype(data));
}

// Reports `to` = what a pass over `whole` computes from the tensors `read`, summed over the repetitions of `to`, unless
// `to` is undefined.
void report_sums(std::string_view name, const Tensor& to, const Tensor& whole, std::initializer_list<Tensor> read);

// Reports a backward of layer norm, which reads or writes each of the tensors and its partial sums once. The first
// tensor is dy. `parameters`: it computes dgamma or dbeta. `bias`: it computes dbias. `mask`: the dropout whose numbers
// it draws.
void report_norm_gradient(std::initializer_list<Tensor> tensors, bool parameters, bool bias,
                          const DropoutMask& mask = {});

// Reports an optimizer's pass over the ranges, which reads and writes each of the tensors there.
void report_ranges(std::string_view name, const UpdateRanges& ranges, std::initializer_list<Tensor> read_and_written);

class VirtualKernels final : public GpuKernels {
 public:
  explicit VirtualKernels(bool tf32) : tf32_(tf32) {}

  std::string name() const override { return "virtual GPU"; }
  Device device() const override { return kVirtualGpu; }
  bool has_bf16() const override { return true; }
  Kernels& with_tf32(bool allowed) override;

#define GYRE_KERNEL override
#define GYRE_KERNEL_WORK(...) \
  override { __VA_ARGS__; }
#define GYRE_CPU_KERNEL \
  override { no_kernel(__func__); }
#include "gyre/core/kernels/all_kernels.inc"

 private:
  const bool tf32_;
};

}  // namespace gyre::virtual_gpu
