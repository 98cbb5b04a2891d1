#include "gyre/autograd/ops/composed.h"

namespace gyre {

Var constant_beside(const Var& x, const Shape& shape, const std::vector<double>& numbers) {
  const Tensor& data = x.value();
  return x.tape().constant(Tensor::from<double>(shape, numbers).to(statistics_dtype(data.dtype())).to(data.device()));
}

Var number_beside(const Var& x, double number) {
  const Tensor& data = x.value();
  return x.tape().constant(Tensor::zeros({1}, statistics_dtype(data.dtype()), data.device())) + number;
}

Var widened(const Var& x) { return cast(x, statistics_dtype(x.value().dtype())); }

Var stored(const Var& y, DType dtype) { return as_stored(cast(y, dtype)); }

}  // namespace gyre
