// Kernels: the interface that each compute backend (CPU, CUDA) implements. The forward and the backward pass of a fused
// op have a method each; the elementary ops of a family share theirs. The comments of all_kernels.inc give formulas and
// shapes.
//
// Conventions of all methods:
// - Arguments are outputs first, then inputs, then constants.
// - n is the number of rows (tokens), d the width. Shapes are row-major.
// - Gradients of data (dx, dq, ..) are overwritten. Gradients of parameters (dw, dbias, dgamma, ..) accumulate.
// - An undefined gradient Tensor is not computed; an undefined optional input is left out of the formula.
// - Data (x, y, q, dout, ..) is f32 or bf16, or f64 for gradient checks. Parameters, their gradients and saved
//   statistics (mean, lse, ..) are f32 if the data is bf16; otherwise they have the dtype of the data.
// - Tensors are on the device of the kernels, but ids, targets, positions and ancestries are on the CPU, i32 unless
//   stated otherwise. Like Segments, they must not change after their first use: GPU kernels cache copies of them.
// - bf16 is a storage type: sums, softmax and statistics are computed in fp32.
// - Results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/kernels/arguments.h"
#include "gyre/core/kernels/fused_op.h"
#include "gyre/core/segments.h"
#include "gyre/core/tensor.h"

namespace gyre {

// A weight (rows, columns), packed once for many products in the layout that Kernels::packed_linear() reads: only for
// the kernels that packed it.
struct PackedWeight {
  Precision precision = Precision::fp32;
  int64_t rows = 0, columns = 0;
  std::shared_ptr<void> panels;
};

// The dtype of parameters and saved statistics that accompany data of type `data`.
inline DType statistics_dtype(DType data) { return data == DType::bf16 ? DType::f32 : data; }

class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual std::string name() const = 0;
  virtual Device device() const = 0;
  virtual bool has_bf16() const = 0;  // if false, bf16 data throws an Error
  // The kernels of the same device whose matrix products of f32 data may, or may not, round their operands to tf32. The
  // kernels of a device do not round until asked.
  virtual Kernels& with_tf32(bool allowed) = 0;
  // In the order of all_kernels.inc.
  const std::vector<FusedOp*>& fused_ops() const { return fused_ops_; }

 private:
  std::vector<FusedOp*> fused_ops_;

 public:
#define GYRE_FUSED_OP(name) FusedOp name##_op{fused_ops_, #name, true};
#define GYRE_CPU_FUSED_OP(name) FusedOp name##_op{fused_ops_, #name, false};
#define GYRE_KERNEL = 0
#define GYRE_CPU_KERNEL = 0
#include "gyre/core/kernels/all_kernels.inc"

  // Frequent calls of binary() and unary(), for tensors of one shape. `out` may be an operand. add() and scale()
  // require tensors of one dtype; convert() converts between f32, f64 and bf16.
  void add(const Tensor& out, const Tensor& a, const Tensor& b) { binary(out, a, b, PairFunction::add); }
  void scale(const Tensor& out, const Tensor& x, double factor) { unary(out, x, {UnaryFunction::affine, factor}); }
  void convert(const Tensor& out, const Tensor& x) { unary(out, x, {UnaryFunction::identity}); }
};

// The CPU kernels for the best instruction set of this processor, and those for every instruction set that it supports,
// slowest first.
Kernels& cpu_kernels();
std::vector<Kernels*> available_cpu_kernels();

// For tests. While on, the CPU kernels accept bf16 data on any CPU and multiply it without AVX512-BF16 or ARM's
// FEAT_BF16: the results have the same bits, at about a hundredth of the speed, unless fp32 operands contain NaN or
// subnormal numbers, which AVX512-BF16 rounds differently. Must not be called while kernels run.
void emulate_bf16(bool on);
bool emulates_bf16();

// The number of elements for which the CPU kernels start another thread: a loop over fewer runs on one. Results do not
// depend on it. Tests lower it, so that small tensors use all threads. Must not be called while kernels run.
constexpr int64_t kWorthAThread = 16384;
void set_worth_a_thread(int64_t elements);
int64_t worth_a_thread();

// Parses cpu, cuda:N, or cuda, which is the GPU whose index is `local_rank`. Throws UsageError for any other name.
Device parse_device(const std::string& name, int local_rank);
// The kernels of a device. Throws UsageError if the device cannot be used.
Kernels& kernels_on(Device device);

// The precision that was chosen or, if none was, bf16 if the kernels support it and fp32 otherwise. Throws UsageError
// for a precision that the kernels do not support.
Precision precision_on(const Kernels& kernels, std::optional<Precision> chosen);

// Number of OpenMP threads of the kernels. Throws UsageError unless 1 <= n <= kMaxThreads.
void set_threads(int n);
int threads();

}  // namespace gyre
