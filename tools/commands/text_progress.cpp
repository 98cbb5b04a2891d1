#include "tools/commands/text_progress.h"

#include <cstdio>

#include "gyre/core/kernels/kernels.h"

namespace gyre {

std::function<void(uint64_t bytes, uint64_t all)> TextProgress::callback() {
  if (quiet_) return {};
  constexpr uint64_t kMegabyte = 1000 * 1000;
  return [this](uint64_t bytes, uint64_t all) {
    if (!progress_) progress_.emplace("MB of text", int64_t(all / kMegabyte));
    progress_->show(int64_t(bytes / kMegabyte));
  };
}

std::function<void(uint64_t merges, uint64_t most)> TextProgress::merges() {
  if (quiet_) return {};
  return [this](uint64_t merges, uint64_t most) {
    if (!is_of_merges_) progress_.reset();
    is_of_merges_ = true;
    if (!progress_) progress_.emplace("merges", int64_t(most));
    progress_->show(int64_t(merges));
  };
}

void print_text_rate(uint64_t bytes, double seconds) {
  const double megabytes = double(bytes) * 1e-6, rate = megabytes / seconds * 60 / threads();
  std::fprintf(stderr, "%.1f MB of text in %.1f s with --cpu-threads %d: %.0f MB per minute and thread\n", megabytes,
               seconds, threads(), rate);
}

}  // namespace gyre
