#include "tests/cuda_emulation/shared_sizes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tests/cuda_emulation/symbols.h"

namespace cuda_emulation {
namespace {

class SharedSizes {
 public:
  SharedSizes() {
    if (const char* file = std::getenv("GYRE_CUDA_EMULATION_SHARED")) file_ = file;
  }
  // Writes once, because several programs may add to the file at the same time.
  ~SharedSizes() {
    if (file_.empty()) return;
    std::string text;
    for (const auto& [kernel, size] : sizes_) {
      text += mangled_name(kernel) + ' ' + std::to_string(size.dynamic) + ' ' + std::to_string(size.allowed) + '\n';
    }
    const int file = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0 || write(file, text.data(), text.size()) != ssize_t(text.size())) std::perror(file_.c_str());
    close(file);
  }
  SharedSizes(const SharedSizes&) = delete;
  SharedSizes& operator=(const SharedSizes&) = delete;

  void note(const void* kernel, const Launch& launch) {
    Size& size = sizes_[kernel];
    size = {std::max(size.dynamic, launch.dynamic_shared), launch.allowed_shared};
  }

 private:
  struct Size {
    size_t dynamic, allowed;  // bytes
  };
  std::string file_;
  std::map<const void*, Size> sizes_;
};

}  // namespace

void note_shared_memory(const void* kernel, const Launch& launch) {
  static SharedSizes sizes;
  sizes.note(kernel, launch);
}

}  // namespace cuda_emulation
