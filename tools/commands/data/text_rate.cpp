#include "tools/commands/data/text_rate.h"

#include <cstdio>

#include "gyre/core/kernels/kernels.h"

namespace gyre {

void print_text_rate(uint64_t bytes, double seconds) {
  const double megabytes = double(bytes) * 1e-6, rate = megabytes / seconds * 60 / threads();
  std::fprintf(stderr, "%.1f MB of text in %.1f s with --cpu-threads %d: %.0f MB per minute and thread\n", megabytes,
               seconds, threads(), rate);
}

}  // namespace gyre
