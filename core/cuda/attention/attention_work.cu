// Work lists of the attention kernels. Segments are many and short in translation, few and long in pretraining. With a
// list of tiles, no block of the grid is without work.
#include <vector>

#include "gyre/core/cuda/attention/attention_call.h"

namespace gyre::cuda {
namespace {

constexpr int64_t kInts = sizeof(AttentionWork) / sizeof(int32_t);

struct Cached {
  std::weak_ptr<const std::vector<int32_t>> rows, others;
  int tile;
  SegmentFilter filter;
  Tensor items;  // i32 (count, kInts)

  bool is_of(const Segments& r, const Segments& o, int t, SegmentFilter c) const {
    return tile == t && filter == c && rows.lock() == r.offsets() && others.lock() == o.offsets();
  }
};

Tensor list_work(const Segments& rows, const Segments& others, int tile, SegmentFilter filter) {
  std::vector<int32_t> ints;
  for (int s = 0; s < rows.count(); ++s) {
    const bool fits = rows.length(s) <= tile && others.length(s) <= tile;
    if (filter != SegmentFilter::all && fits != (filter == SegmentFilter::fitting)) continue;
    // A segment without rows is listed only as a single tile, to write zeros for its others.
    const int tiles = filter == SegmentFilter::fitting ? 1 : int(divide_up(rows.length(s), tile));
    for (int i = tiles - 1; i >= 0; --i)
      ints.insert(ints.end(), {rows.begin(s), rows.length(s), others.begin(s), others.length(s), i * tile});
  }
  return Tensor::from({int64_t(ints.size()) / kInts, kInts}, ints);
}

}  // namespace

WorkList attention_work(Context& context, const Segments& rows, const Segments& others, int tile,
                        SegmentFilter filter) {
  constexpr size_t kMost = 16;  // enough for self- and cross-attention of a batch, forward and backward
  static thread_local std::vector<Cached> cached;
  static thread_local size_t next = 0;
  for (const Cached& k : cached)
    if (k.is_of(rows, others, tile, filter))
      return {reinterpret_cast<const AttentionWork*>(context.ids(k.items)), k.items.dim(0)};
  Cached entry{rows.offsets(), others.offsets(), tile, filter, list_work(rows, others, tile, filter)};
  const WorkList list{reinterpret_cast<const AttentionWork*>(context.ids(entry.items)), entry.items.dim(0)};
  if (cached.size() < kMost) {
    cached.push_back(std::move(entry));
  } else {
    cached[next++ % kMost] = std::move(entry);
  }
  return list;
}

}  // namespace gyre::cuda
