// Copies to memory that another core reads next. Streaming stores bypass the caches: an ordinary store first fetches
// its line from the cache of the core that has read it before, which takes several times as long as the copy itself.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gyre {

// `to`: aligned to 16 bytes. A store with memory_order_release that follows makes the copy visible.
inline void stream_copy(const void* from, size_t bytes, std::byte* to) {
  const auto* const source = static_cast<const std::byte*>(from);
  size_t done = 0;
#if defined(__SSE2__)
  for (; done + 64 <= bytes; done += 64) {
    for (size_t part = 0; part < 64; part += 16) {
      const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + done + part));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + done + part), values);
    }
  }
  _mm_sfence();  // streaming stores are not ordered by a release
#endif
  std::memcpy(to + done, source + done, bytes - done);
}

}  // namespace gyre
