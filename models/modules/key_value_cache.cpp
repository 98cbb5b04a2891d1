#include "gyre/models/modules/key_value_cache.h"

#include <algorithm>
#include <numeric>

namespace gyre {

KeyValueCache::KeyValueCache(int layers, int rows)
    : steps_(static_cast<size_t>(layers)),
      terms_(static_cast<size_t>(layers)),
      ancestry_(Tensor::empty({rows, 0}, DType::i32)),
      parents_(size_t(rows)) {
  std::iota(parents_.begin(), parents_.end(), 0);
}

void KeyValueCache::begin_step() {
  const int64_t before = length(), now = before + 1;
  const Tensor path = Tensor::empty({rows(), now}, DType::i32);
  for (int64_t row = 0; row < rows(); ++row) {
    int32_t* to = path.data<int32_t>() + row * now;
    std::copy_n(ancestry_.data<int32_t>() + parents_[size_t(row)] * before, before, to);
    to[before] = int32_t(row);
  }
  ancestry_ = path;
  std::iota(parents_.begin(), parents_.end(), 0);
}

Tensor KeyValueCache::attend(Kernels& kernels, int layer, const Tensor& qkv, int heads) {
  std::vector<Tensor>& steps = steps_[size_t(layer)];
  require(qkv.dim(0) == ancestry_.dim(0) && int(steps.size()) == length() - 1, "[key-value cache] expected step ",
          length(), " with ", ancestry_.dim(0), " rows, got step ", steps.size() + 1, " with ", qkv.dim(0));
  steps.push_back(qkv);
  const int64_t dim = qkv.cols() / 3;
  Tensor out = Tensor::empty({qkv.dim(0), dim}, qkv.dtype(), qkv.device());
  const Terms& terms = terms_[size_t(layer)];
  kernels.decode_attention(out, steps, ancestry_, {.heads = heads, .scale = terms.scale, .dropout = {}}, terms.values);
  return out;
}

void KeyValueCache::gather(const std::vector<int>& parents) {
  std::vector<int> next;
  for (int parent : parents) {
    require(parent >= 0 && parent < rows(), "[key-value cache] expected a row below ", rows(), ", got ", parent);
    next.push_back(parents_[size_t(parent)]);
  }
  parents_ = std::move(next);
}

}  // namespace gyre
