// Work lists of the attention kernels. Segments are many and short in translation, few and long in pretraining. With a
// list of tiles, no block of the grid is without work.
#include <algorithm>
#include <vector>

#include "gyre/core/cuda/attention/attention_call.h"
#include "gyre/core/kernels/gpu_blocks.h"

namespace gyre::cuda {
namespace {

constexpr int64_t kInts = sizeof(AttentionWork) / sizeof(int32_t);
using Items = std::vector<AttentionWork>;

AttentionWork work_of(const Segments& rows, const Segments& others, int s, int begin) {
  return {rows.begin(s), rows.length(s), others.begin(s), others.length(s), begin};
}

bool fits(const Segments& rows, const Segments& others, int s) {
  return rows.length(s) <= kTileRows && others.length(s) <= kTileRows;
}

Items list_tiles(const Segments& rows, const Segments& others, int tile, SegmentFilter filter) {
  Items items;
  for (int s = 0; s < rows.count(); ++s) {
    if (filter == SegmentFilter::not_fitting && fits(rows, others, s)) continue;
    const int tiles = int(divide_up(rows.length(s), tile));
    for (int i = tiles - 1; i >= 0; --i) items.push_back(work_of(rows, others, s, i * tile));
  }
  return items;
}

Items list_packed(const Segments& queries, const Segments& keys) {
  std::vector<int> segments[kWarpsOfBlock + 1];  // segments indexed by their number of warps
  for (int s = queries.count() - 1; s >= 0; --s) {
    const int longest = std::max(queries.length(s), keys.length(s));
    if (fits(queries, keys, s)) segments[divide_up(longest, kStripRows)].push_back(s);
  }
  WaitingSegments waiting{};
  for (size_t warps = 1; warps < waiting.size(); ++warps) waiting[warps] = int64_t(segments[warps].size());
  Items items;
  const auto place = [&](int warps) {
    const int begin = int(items.size()) % kWarpsOfBlock * kStripRows;
    items.insert(items.end(), size_t(warps), work_of(queries, keys, segments[warps].back(), begin));
    segments[warps].pop_back();
  };
  pack_segments(waiting, place, [&](int left) {
    for (; left > 0; --left) items.push_back({0, 0, 0, 0, (kWarpsOfBlock - left) * kStripRows});
  });
  return items;
}

// Lists of earlier calls, on the device.
class WorkLists {
 public:
  // `tile`: 0 for packed segments.
  template <class Make>
  WorkList get(Context& context, const Segments& rows, const Segments& others, int tile, SegmentFilter filter,
               const Make& make) {
    for (const Cached& c : cached_)
      if (c.is_of(rows, others, tile, filter)) return on_device(context, c.items);
    const Items items = make();
    std::vector<int32_t> ints;
    for (const AttentionWork& w : items)
      ints.insert(ints.end(), {w.first, w.count, w.first_other, w.count_other, w.begin});
    Cached entry{rows.offsets(), others.offsets(), tile, filter, Tensor::from({int64_t(items.size()), kInts}, ints)};
    const WorkList list = on_device(context, entry.items);
    if (cached_.size() < kMost) {
      cached_.push_back(std::move(entry));
    } else {
      cached_[next_++ % kMost] = std::move(entry);
    }
    return list;
  }

 private:
  static constexpr size_t kMost = 16;  // enough for self- and cross-attention of a batch, forward and backward

  struct Cached {
    std::weak_ptr<const std::vector<int32_t>> rows, others;
    int tile;
    SegmentFilter filter;
    Tensor items;  // i32 (count, kInts)

    bool is_of(const Segments& r, const Segments& o, int t, SegmentFilter f) const {
      return tile == t && filter == f && rows.lock() == r.offsets() && others.lock() == o.offsets();
    }
  };

  static WorkList on_device(Context& context, const Tensor& items) {
    return {reinterpret_cast<const AttentionWork*>(context.ids(items)), items.dim(0)};
  }

  std::vector<Cached> cached_;
  size_t next_ = 0;
};

WorkLists& work_lists() {
  static thread_local WorkLists lists;
  return lists;
}

}  // namespace

WorkList attention_work(Context& context, const Segments& rows, const Segments& others, int tile,
                        SegmentFilter filter) {
  return work_lists().get(context, rows, others, tile, filter, [&] { return list_tiles(rows, others, tile, filter); });
}

WorkList packed_work(Context& context, const Segments& queries, const Segments& keys) {
  const WorkList warps =
      work_lists().get(context, queries, keys, 0, SegmentFilter::all, [&] { return list_packed(queries, keys); });
  return {warps.items, warps.count / kWarpsOfBlock};
}

}  // namespace gyre::cuda
