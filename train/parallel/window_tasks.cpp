#include "gyre/train/parallel/window_tasks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gyre {

namespace {

// Copies to memory that another core reads next. Streaming stores bypass the caches: an ordinary store first fetches
// its line from the cache of the core that has read it before, which takes several times as long as the copy itself.
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

constexpr int64_t kAligned = 16;  // elements: a cache line of fp32

// Cuts the shares into pieces, one per rank and chunk.
class Pieces {
 public:
  Pieces(const Shares& shares, int64_t most) : of_rank_(shares.size()) {
    for (size_t rank = 0; rank < shares.size(); ++rank) {
      for (const ElementRange range : shares[rank]) cut(range, most, of_rank_[rank]);
      chunks_ = std::max(chunks_, int64_t(of_rank_[rank].size()));
    }
  }
  int64_t chunks() const { return chunks_; }
  ElementRange piece(int rank, int64_t chunk) const {
    const std::vector<ElementRange>& own = of_rank_[size_t(rank)];
    return chunk < int64_t(own.size()) ? own[size_t(chunk)] : ElementRange{};
  }

 private:
  // Pieces of nearly equal size keep the ranks in step.
  static void cut(ElementRange range, int64_t most, std::vector<ElementRange>& pieces) {
    if (range.size() <= 0) return;
    const int64_t count = (range.size() + most - 1) / most;
    const int64_t size = ((range.size() + count - 1) / count + kAligned - 1) / kAligned * kAligned;
    for (int64_t begin = range.begin; begin < range.end; begin += size)
      pieces.push_back({begin, std::min(begin + size, range.end)});
  }

  std::vector<std::vector<ElementRange>> of_rank_;
  int64_t chunks_ = 1;
};

// The most elements of a piece if a slot has room for `areas` of them.
int64_t piece_elements(int64_t areas, DType dtype) {
  return WindowPipeline::kSlotBytes / int64_t(dtype_bytes(dtype)) / areas / kAligned * kAligned;
}

// As gyre::pack(), to memory that other ranks read.
void publish(const float* from, int64_t n, DType comm_dtype, std::byte* to) {
  if (comm_dtype == DType::f32) return stream_copy(from, size_t(n) * sizeof(float), to);
  constexpr int64_t kMost = 2048;
  alignas(64) std::array<std::byte, kMost * sizeof(float)> packed;
  const auto size = int64_t(dtype_bytes(comm_dtype));
  for (int64_t done = 0; done < n; done += kMost) {
    const int64_t count = std::min(kMost, n - done);
    gyre::pack(from + done, count, comm_dtype, packed.data());
    stream_copy(packed.data(), size_t(count * size), to + done * size);
  }
}

class WindowGatherTask final : public WindowTask {
 public:
  WindowGatherTask(int rank, const Shares& shares, Tensor values)
      : rank_(rank), values_(std::move(values)), pieces_(shares, piece_elements(1, DType::f32)) {}
  const char* name() const override { return "all-gather in shared memory"; }
  int64_t bytes() const override { return values_.size() * int64_t(sizeof(float)); }
  int64_t chunks() const override { return pieces_.chunks(); }
  void pack(int64_t, Slots) override {}
  void add(int64_t chunk, Slots slots) override {
    const ElementRange own = pieces_.piece(rank_, chunk);
    publish(values_.data<float>() + own.begin, own.size(), DType::f32, slots[size_t(rank_)]);
  }
  void take(int64_t chunk, Slots slots) override {
    for (int rank = 0; rank < int(slots.size()); ++rank) {
      const ElementRange piece = pieces_.piece(rank, chunk);
      if (rank != rank_) unpack(slots[size_t(rank)], piece.size(), DType::f32, values_.data<float>() + piece.begin);
    }
  }

 private:
  int rank_;
  Tensor values_;
  Pieces pieces_;
};

// A slot has an area for each part and each rank that adds it, and one for the sums if they are gathered.
class WindowSumTask final : public WindowTask {
 public:
  explicit WindowSumTask(WindowSum sum)
      : sum_(std::move(sum)),
        most_parts_(*std::max_element(sum_.parts_of.begin(), sum_.parts_of.end())),
        areas_(int64_t(sum_.shares.size()) * most_parts_),
        area_elements_(piece_elements(areas_ + (sum_.gathers ? 1 : 0), sum_.comm_dtype)),
        pieces_(sum_.shares, area_elements_) {}
  const char* name() const override { return "sum in shared memory"; }
  int64_t bytes() const override { return sum_.parts.back().size() * int64_t(dtype_bytes(sum_.comm_dtype)); }
  int64_t chunks() const override { return pieces_.chunks(); }

  void pack(int64_t chunk, Slots slots) override {
    for (int rank = 0; rank < int(slots.size()); ++rank) {
      if (rank == sum_.rank && !rounds()) continue;  // add() reads this rank's own parts where they are
      const ElementRange piece = pieces_.piece(rank, chunk);
      for (size_t part = 0; part < sum_.parts.size(); ++part) {
        publish(sum_.parts[part].data<float>() + piece.begin, piece.size(), sum_.comm_dtype,
                area(slots, sum_.rank, rank * most_parts_ + int(part)));
      }
    }
  }

  void add(int64_t chunk, Slots slots) override {
    const ElementRange own = pieces_.piece(sum_.rank, chunk);
    std::vector<const std::byte*> parts;
    for (int rank = 0; rank < int(slots.size()); ++rank) {
      for (int part = 0; part < sum_.parts_of[size_t(rank)]; ++part) {
        const bool in_place = rank == sum_.rank && !rounds();
        parts.push_back(in_place
                            ? reinterpret_cast<const std::byte*>(sum_.parts[size_t(part)].data<float>() + own.begin)
                            : area(slots, rank, sum_.rank * most_parts_ + part));
      }
    }
    for (size_t i = 0; i < sum_.outputs.size(); ++i) {
      sum_.adder->add(sum_.outputs[i], parts, own.size(), sum_.comm_dtype, sum_.sums[i].data<float>() + own.begin);
    }
    if (!sum_.gathers) return;
    std::byte* const result = area(slots, sum_.rank, areas_);
    publish(result_of(own), own.size(), sum_.comm_dtype, result);
    if (rounds()) unpack(result, own.size(), sum_.comm_dtype, result_of(own));  // the other ranks do the same
  }

  void take(int64_t chunk, Slots slots) override {
    for (int rank = 0; sum_.gathers && rank < int(slots.size()); ++rank) {
      const ElementRange piece = pieces_.piece(rank, chunk);
      if (rank != sum_.rank) unpack(area(slots, rank, areas_), piece.size(), sum_.comm_dtype, result_of(piece));
    }
  }

 private:
  bool rounds() const { return sum_.comm_dtype != DType::f32; }
  float* result_of(ElementRange piece) const { return sum_.sums.back().data<float>() + piece.begin; }
  std::byte* area(Slots slots, int rank, int64_t index) const {
    return slots[size_t(rank)] + index * area_elements_ * int64_t(dtype_bytes(sum_.comm_dtype));
  }

  WindowSum sum_;
  int most_parts_;
  int64_t areas_, area_elements_;
  Pieces pieces_;
};

}  // namespace

bool fits_window(int ranks, int parts) { return piece_elements(int64_t{ranks} * parts + 1, DType::f32) > 0; }

std::unique_ptr<WindowTask> make_window_sum(WindowSum sum) { return std::make_unique<WindowSumTask>(std::move(sum)); }

std::unique_ptr<WindowTask> make_window_gather(int rank, const Shares& shares, const Tensor& values) {
  return std::make_unique<WindowGatherTask>(rank, shares, values);
}

}  // namespace gyre
