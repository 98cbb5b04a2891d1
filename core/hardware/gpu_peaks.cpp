#include "gyre/core/hardware/gpu_peaks.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace gyre {
namespace {

constexpr double kTera = 1e12;

// The first row whose words are in the name counts: a module without the name of its card is an SXM.
constexpr std::array kPeaks{
    GpuPeaks{"B200", 2250 * kTera, 1125 * kTera, 75 * kTera},
    GpuPeaks{"GH200", 989 * kTera, 494 * kTera, 67 * kTera},
    GpuPeaks{"H200 NVL", 835 * kTera, 417 * kTera, 60 * kTera},
    GpuPeaks{"H200", 989 * kTera, 494 * kTera, 67 * kTera},
    GpuPeaks{"H100 PCIe", 756 * kTera, 378 * kTera, 51 * kTera},
    GpuPeaks{"H100 NVL", 835 * kTera, 417 * kTera, 60 * kTera},
    GpuPeaks{"H100", 989 * kTera, 494 * kTera, 67 * kTera},
    GpuPeaks{"A100", 312 * kTera, 156 * kTera, 19.5 * kTera},
    GpuPeaks{"A30", 165 * kTera, 82 * kTera, 10.3 * kTera},
    GpuPeaks{"A10", 125 * kTera, 62.5 * kTera, 31.2 * kTera},
    GpuPeaks{"A40", 149.7 * kTera, 74.8 * kTera, 37.4 * kTera},
    GpuPeaks{"L40S", 362 * kTera, 183 * kTera, 91.6 * kTera},
    GpuPeaks{"L4", 121 * kTera, 60 * kTera, 30.3 * kTera},
    GpuPeaks{"RTX 3090", 71 * kTera, 35.6 * kTera, 35.6 * kTera},
    GpuPeaks{"RTX 4090", 165.2 * kTera, 82.6 * kTera, 82.6 * kTera},
};
// Names with one of these words are those of other devices than the rows with the rest of the name.
constexpr std::array kOtherDevices{"MIG", "Laptop", "Ti", "D"};

// Whether the word at this place has no letter or digit next to it.
bool is_whole_word(std::string_view text, size_t at, size_t length) {
  const auto in_word = [&](size_t i) { return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])); };
  return !(at > 0 && in_word(at - 1)) && !in_word(at + length);
}

bool has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if (is_whole_word(text, at, word.size())) return true;
  return false;
}

}  // namespace

double GpuPeaks::of(Precision precision) const {
  if (precision == Precision::bf16) return bf16;
  return precision == Precision::tf32 ? tf32 : fp32;
}

bool names_gpu(std::string_view device, std::string_view words) {
  while (!words.empty()) {
    const size_t length = std::min(words.find(' '), words.size());
    if (!has_word(device, words.substr(0, length))) return false;
    words.remove_prefix(std::min(length + 1, words.size()));
  }
  return true;
}

const GpuPeaks* find_gpu_peaks(std::string_view device) {
  if (std::ranges::any_of(kOtherDevices, [&](std::string_view word) { return has_word(device, word); })) return nullptr;
  const auto found =
      std::ranges::find_if(kPeaks, [&](const GpuPeaks& peaks) { return names_gpu(device, peaks.words); });
  return found == kPeaks.end() ? nullptr : &*found;
}

}  // namespace gyre
