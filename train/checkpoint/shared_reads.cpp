#include "gyre/train/checkpoint/shared_reads.h"

#include <utility>

namespace gyre {

SharedReads::SharedReads(std::vector<TensorFile>& files) {
  for (TensorFile& file : files) {
    for (TensorSource& tensor : file.tensors) {
      reads_.push_back(tensor.read);
      tensor.read = [this, number = reads_.size() - 1] { return take(number); };
    }
  }
  results_.resize(reads_.size());
}

SharedReads::~SharedReads() {
  while (made_ < reads_.size()) reads_[made_++]();
}

Tensor SharedReads::take(size_t number) {
  while (made_ <= number) {
    const size_t next = made_++;
    results_[next] = reads_[next]();
  }
  return std::exchange(results_[number], {});
}

}  // namespace gyre
