#include "gyre/data/tokenizer/hugging_face/merges.h"

#include <algorithm>

namespace gyre {

namespace {

constexpr uint32_t kNone = UINT32_MAX;  // no neighbor
constexpr int32_t kGone = -1;           // id of a symbol that was joined to the one before

uint64_t key_of(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

}  // namespace

ByteBpeMerges::ByteBpeMerges(const std::vector<ByteBpeMerge>& merges) {
  steps_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank)
    steps_[key_of(merges[rank].left, merges[rank].right)] = {int32_t(rank), merges[rank].merged};
}

const ByteBpeMerges::Step* ByteBpeMerges::find(int32_t left, int32_t right) const {
  const auto place = steps_.find(key_of(left, right));
  return place == steps_.end() ? nullptr : &place->second;
}

void ByteBpeMerges::push(uint32_t left, Workspace& workspace) const {
  const Workspace::Symbol& symbol = workspace.symbols[left];
  if (symbol.next == kNone) return;
  const Step* step = find(symbol.id, workspace.symbols[symbol.next].id);
  if (step == nullptr) return;
  workspace.heap.push_back({step->rank, left, step->merged});
  std::push_heap(workspace.heap.begin(), workspace.heap.end());
}

void ByteBpeMerges::apply(std::vector<int32_t>& ids, Workspace& workspace) const {
  auto& [symbols, heap] = workspace;
  const auto size = uint32_t(ids.size());
  symbols.clear();
  heap.clear();
  for (uint32_t i = 0; i < size; ++i)
    symbols.push_back({ids[i], i == 0 ? kNone : i - 1, i + 1 == size ? kNone : i + 1});
  for (uint32_t i = 0; i < size; ++i) push(i, workspace);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const Workspace::Candidate best = heap.back();
    heap.pop_back();
    Workspace::Symbol& left = symbols[best.left];
    if (left.id == kGone || left.next == kNone) continue;
    Workspace::Symbol& right = symbols[left.next];
    const Step* step = find(left.id, right.id);
    if (step == nullptr || step->merged != best.merged) continue;  // one of the two was joined to another
    left.id = best.merged;
    left.next = right.next;
    right.id = kGone;
    if (left.next != kNone) symbols[left.next].previous = best.left;
    if (left.previous != kNone) push(left.previous, workspace);
    push(best.left, workspace);
  }
  ids.clear();
  for (const Workspace::Symbol& symbol : symbols)
    if (symbol.id != kGone) ids.push_back(symbol.id);
}

}  // namespace gyre
