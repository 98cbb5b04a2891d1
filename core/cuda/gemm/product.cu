#include "gyre/core/cuda/gemm/matmul.h"
#include "gyre/core/cuda/gemm/product.h"
#include "gyre/core/cuda/gemm/row_passes.h"

namespace gyre::cuda {
namespace {

void check_arguments(const Tensor& c, const Operand& a, const Operand& b, const ProductOptions& options) {
  const int64_t m = c.rows(), n = b.free_size(), k = a.summed_size();
  const DType type = a.tensor.dtype();
  require(b.tensor.dtype() == type && (c.dtype() == type || (type == DType::bf16 && c.dtype() == DType::f32)),
          "[cuda product] cannot multiply ", type, " by ", b.tensor.dtype(), " into ", c.dtype());
  require(a.free_size() == m && c.cols() >= n && b.summed_size() == k, "[cuda product] expected (", m, ", ", k, ") x (",
          k, ", up to ", c.cols(), "), got (", a.free_size(), ", ", k, ") x (", b.summed_size(), ", ", n, ")");
  require(!options.bias || (options.bias.size() == n && options.bias.dtype() == c.dtype()),
          "[cuda product] expected a bias of ", n, " ", c.dtype(), ", got ", options.bias.size(), " ",
          options.bias.dtype());
  require(!options.add || (options.add.shape() == c.shape() && options.add.dtype() == c.dtype()),
          "[cuda product] expected to add ", c.dtype(), " ", c.shape(), ", got ", options.add.dtype(), " ",
          options.add.shape());
}

}  // namespace

void product(Context& context, const Tensor& c, const Operand& a, const Operand& b, const ProductOptions& options) {
  if (c.size() == 0) return;
  check_arguments(c, a, b, options);
  if (a.summed_size() == 0) {
    if (!options.add) {
      c.zero();
    } else if (options.add.raw() != c.raw()) {
      c.copy_from(options.add);
    }
    if (options.bias) add_bias(context, c, options.bias, options.relu);
    return;
  }
  Matmul call(c, a, b, options);
  if (const auto algorithm = algorithm_for(context, call)) return call.run(context, *algorithm);
  require(options.bias.defined(), "[cuda] cublasLt has no product of ", a.tensor.dtype(), " ", a.tensor.shape(),
          " and ", b.tensor.shape(), " to ", c.dtype(), " ", c.shape());
  product(context, c, a, b, {.add = options.add, .tf32 = options.tf32});
  add_bias(context, c, options.bias, options.relu);
}

}  // namespace gyre::cuda
