// No op of its own: with logits (0, x), -log softmax is log(1 + exp(-x)) for label 1 and log(1 + exp(x)) for label 0.
#include "gyre/autograd/ops.h"

namespace gyre {

LossResult binary_cross_entropy(const Var& logits, const Tensor& labels) {
  require(logits.shape().rank() == 2 && logits.shape()[1] == 1, "[binary_cross_entropy] logits must be (n,1), got ",
          logits.shape());
  const Tensor& x = logits.value();
  const Tensor columns = Tensor::from({2, 1}, std::vector<float>{0, 1}).to(statistics_dtype(x.dtype())).to(x.device());
  return linear_cross_entropy(logits, logits.tape().constant(columns), {}, labels);
}

}  // namespace gyre
