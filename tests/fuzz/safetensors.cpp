#include "gyre/core/io/safetensors.h"

#include "tests/fuzz/target.h"

using namespace gyre;

void read_input(std::string_view input) {
  const SafetensorsFile file(as_file(input));
  for (const auto& entry : file.entries()) {
    if (entry.shape.size() > Shape::kMaxRank) continue;
    const Tensor out = Tensor::empty(Shape(std::span<const int64_t>(entry.shape)));
    file.read(entry, out);
  }
}
