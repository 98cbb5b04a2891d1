#include "gyre/core/host_copy.h"

#include <cstring>

#include "gyre/core/virtual_gpu/virtual_gpu.h"

namespace gyre {

HostCopy::HostCopy(const Tensor& source) {
  if (source.device() == Device{}) {
    source_ = source.clone();
  } else if (source.device() == kVirtualGpu) {
    source_ = Tensor::zeros(source.shape(), source.dtype());
    virtual_readback_ = virtual_read_back();
  } else {
    source_ = source;
    readback_ = cuda_read_back(source.device().index, source.raw(), source.bytes());
  }
}

Tensor HostCopy::wait() const {
  if (virtual_readback_) virtual_wait(*virtual_readback_);
  if (!readback_) return source_;
  Tensor copy = Tensor::empty(source_.shape(), source_.dtype());
  std::memcpy(copy.raw(), readback_->wait(), copy.bytes());
  return copy;
}

}  // namespace gyre
