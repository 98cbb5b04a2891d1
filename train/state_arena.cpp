#include "train/state_arena.h"

#include <algorithm>

namespace gyre {
namespace {

ElementRange range_of(const Parameter& p) { return {p.offset, p.offset + p.shape.elements()}; }

}  // namespace

StateArena::StateArena(const Ownership& ownership, const Tensor& arena)
    : ownership_(&ownership), owned_(ownership.owned()) {
  int64_t elements = 0;
  for (const ElementRange& range : owned_) elements += range.size();
  numbers_ = Tensor::zeros({elements}, arena.dtype(), arena.device());
}

// `arena` may be a window: its first element is then element `first`.
std::vector<StateArena::Match> StateArena::matches(ElementRange range, const Tensor& arena, int64_t first) const {
  std::vector<Match> found;
  int64_t at = 0;
  for (const ElementRange& own : owned_) {
    const ElementRange both{std::max(own.begin, range.begin), std::min(own.end, range.end)};
    if (both.begin < both.end) {
      const int64_t place = at + both.begin - own.begin;
      found.push_back({numbers_.slice(place, place + both.size()), arena.slice(both.begin - first, both.end - first)});
    }
    at += own.size();
  }
  return found;
}

void StateArena::copy_from(const Tensor& arena) const {
  for (const Match& m : matches({0, arena.size()}, arena)) m.own.copy_from(m.whole);
}

void StateArena::copy_to(const Tensor& arena) const {
  for (const Match& m : matches({0, arena.size()}, arena)) m.whole.copy_from(m.own);
  if (ownership_->is_shared()) ownership_->share(arena, {0, arena.size()});
}

Tensor StateArena::read(const Parameter& parameter) const {
  const ElementRange wanted = range_of(parameter);
  if (!ownership_->is_shared()) return numbers_.slice(wanted.begin, wanted.end).reshape(parameter.shape);
  const ElementRange range = ownership_->shareable(wanted);
  const Tensor window = Tensor::empty({range.size()}, numbers_.dtype(), numbers_.device());
  for (const Match& m : matches(range, window, range.begin)) m.whole.copy_from(m.own);
  ownership_->share(window, range);
  return window.slice(wanted.begin - range.begin, wanted.end - range.begin).reshape(parameter.shape);
}

void StateArena::write(const Parameter& parameter, const Tensor& values) const {
  const ElementRange range = range_of(parameter);
  for (const Match& m : matches(range, values.reshape({range.size()}), range.begin)) m.own.copy_from(m.whole);
}

}  // namespace gyre
