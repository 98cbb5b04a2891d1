#include "gyre/models/position/distances.h"

namespace gyre {

Tensor distance_ids(const PositionTermsRequest& request, const std::function<int64_t(int64_t)>& id_of) {
  Tensor ids = Tensor::empty({distance_count(request)}, DType::i32);
  for (int64_t row = 0; row < ids.size(); ++row) ids.data<int32_t>()[row] = int32_t(id_of(row - request.longest + 1));
  return ids;
}

Tensor distance_table(const PositionTermsRequest& request, int64_t columns,
                      const std::function<void(int64_t, double*)>& fill) {
  Tensor table = Tensor::empty({distance_count(request), columns}, DType::f64);
  for (int64_t row = 0; row < table.dim(0); ++row)
    fill(row - request.longest + 1, table.data<double>() + row * columns);
  return table;
}

}  // namespace gyre
