#include "gyre/models/hugging_face/tensor_checks.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/error.h"
#include "gyre/models/hugging_face/weights.h"

namespace gyre {

std::optional<FoundTensor> find_tensor(std::span<const SafetensorsFile> files, std::string_view name) {
  for (const SafetensorsFile& file : files) {
    if (const auto* entry = file.find(name)) return FoundTensor{&file, entry};
  }
  return std::nullopt;
}

void require_repeats(std::span<const SafetensorsFile> files, const std::string& name, const Tensor& expected,
                     double tolerance, const std::string& what) {
  const auto found = find_tensor(files, name);
  if (!found) return;
  const Tensor got = Tensor::empty(expected.shape());
  found->file->read(*found->entry, got);
  const Tensor host = expected.to_cpu();
  for (int64_t i = 0; i < got.size(); ++i) {
    const double a = host.data<float>()[i], b = got.data<float>()[i];
    if (a == b || std::abs(a - b) <= tolerance) continue;
    throw Error("[hugging face] ", found->file->path().string(), ": tensor ", name, ": expected ", what,
                ", got different values in row ", i / got.cols());
  }
}

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

void add_tensors(std::span<const SafetensorsFile> files, const TargetName& target_name, TensorReport& report) {
  for (const SafetensorsFile& file : files) {
    report.unlisted.insert(report.unlisted.end(), file.left_out().begin(), file.left_out().end());
    for (const auto& entry : file.entries()) {
      if (target_name(entry.name).empty()) {
        report.repeats.push_back(entry.name);
      } else {
        ++report.read;
      }
    }
  }
}

}  // namespace gyre
