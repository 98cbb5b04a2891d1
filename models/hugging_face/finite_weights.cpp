#include "gyre/models/hugging_face/finite_weights.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/error.h"
#include "gyre/core/io/element_conversion.h"

namespace gyre {

void require_finite(std::span<const SafetensorsFile> files, const TargetName& target_name) {
  for (const SafetensorsFile& file : files) {
    for (const SafetensorsEntry& entry : file.entries()) {
      if (target_name(entry.name).empty()) continue;
      const std::string context = concat("[hugging face] ", file.path().string(), ": tensor ", entry.name, ": ");
      int64_t count = 1;
      for (const int64_t length : entry.shape) count *= length;
      const Tensor values = Tensor::empty({count});
      convert_elements(entry.dtype, file.bytes(entry), values, context);
      const auto all = values.span<float>();
      const auto found = std::find_if(all.begin(), all.end(), [](float x) { return !std::isfinite(x); });
      require(found == all.end(), context, "expected finite numbers, got ", found == all.end() ? 0.0F : *found,
              " in element ", found - all.begin());
    }
  }
}

}  // namespace gyre
