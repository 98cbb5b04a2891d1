// The pieces of work of attention's kernels. Segments are many and short in translation, few and long in pretraining:
// a list of tiles fills the grid with nothing but work.
#include <vector>

#include "core/cuda/attention_call.h"

namespace gyre::cuda {
namespace {

constexpr int64_t kInts = sizeof(AttentionWork) / sizeof(int32_t);

struct Kept {
  std::weak_ptr<const std::vector<int32_t>> rows, others;
  int tile;
  WorkChoice choice;
  Tensor items;  // i32 (count, kInts)

  bool is_of(const Segments& r, const Segments& o, int t, WorkChoice c) const {
    return tile == t && choice == c && rows.lock() == r.offsets() && others.lock() == o.offsets();
  }
};

Tensor list_work(const Segments& rows, const Segments& others, int tile, WorkChoice choice) {
  std::vector<int32_t> ints;
  for (int s = 0; s < rows.count(); ++s) {
    const bool fits = rows.length(s) <= tile && others.length(s) <= tile;
    if (choice != WorkChoice::all && fits != (choice == WorkChoice::fitting)) continue;
    // A segment without rows has work only where its others wait for zeros: as one tile of both.
    const int tiles = choice == WorkChoice::fitting ? 1 : int(divide_up(rows.length(s), tile));
    for (int i = tiles - 1; i >= 0; --i)
      ints.insert(ints.end(), {rows.begin(s), rows.length(s), others.begin(s), others.length(s), i * tile});
  }
  return Tensor::from({int64_t(ints.size()) / kInts, kInts}, ints);
}

}  // namespace

WorkList attention_work(Context& context, const Segments& rows, const Segments& others, int tile, WorkChoice choice) {
  constexpr size_t kMost = 16;  // of a batch's self- and cross-attention, forward and backward
  static thread_local std::vector<Kept> kept;
  static thread_local size_t next = 0;
  for (const Kept& k : kept)
    if (k.is_of(rows, others, tile, choice))
      return {reinterpret_cast<const AttentionWork*>(context.ids(k.items)), k.items.dim(0)};
  Kept made{rows.offsets(), others.offsets(), tile, choice, list_work(rows, others, tile, choice)};
  const WorkList list{reinterpret_cast<const AttentionWork*>(context.ids(made.items)), made.items.dim(0)};
  if (kept.size() < kMost) {
    kept.push_back(std::move(made));
  } else {
    kept[next++ % kMost] = std::move(made);
  }
  return list;
}

}  // namespace gyre::cuda
