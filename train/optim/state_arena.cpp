#include "gyre/train/optim/state_arena.h"

#include <algorithm>

#include "gyre/core/error.h"

namespace gyre {
StateArena::StateArena(const OptimizerPartition& partition, const Tensor& arena,
                       const std::vector<ElementRange>& covered)
    : partition_(&partition),
      owned_(intersection(partition.owned(), covered)),
      values_(Tensor::zeros({owned_.elements()}, arena.dtype(), arena.device())) {}

// The values in `range`, by owned range.
std::vector<StateArena::Piece> StateArena::pieces(ElementRange range) const {
  std::vector<Piece> found;
  for (const ElementRange& both : intersection(owned_.ranges(), {range})) {
    const int64_t place = owned_.position(both.begin);
    found.push_back({both, values_.slice(place, place + both.size())});
  }
  return found;
}

// `arena` may be a window of an arena whose first element is element `first`.
std::vector<StateArena::Match> StateArena::matches(ElementRange range, const Tensor& arena, int64_t first) const {
  std::vector<Match> found;
  for (const Piece& piece : pieces(range))
    found.push_back({piece.values, arena.slice(piece.range.begin - first, piece.range.end - first)});
  return found;
}

void StateArena::copy_from(const Tensor& arena) const {
  for (const Match& m : matches({0, arena.size()}, arena)) m.shard.copy_from(m.full);
}

void StateArena::copy_to(const Tensor& arena) const {
  for (const Match& m : matches({0, arena.size()}, arena)) m.full.copy_from(m.shard);
  if (partition_->is_sharded()) partition_->all_gather(arena, {0, arena.size()});
}

Tensor StateArena::read(const Parameter& parameter) const {
  const ElementRange wanted = element_range(parameter);
  if (!partition_->is_sharded()) return pieces(wanted).front().values.reshape(parameter.shape);
  const ElementRange range = partition_->all_gather_range(wanted);
  const Tensor window = Tensor::empty({range.size()}, values_.dtype(), values_.device());
  for (const Match& m : matches(range, window, range.begin)) m.full.copy_from(m.shard);
  partition_->all_gather(window, range);
  return window.slice(wanted.begin - range.begin, wanted.end - range.begin).reshape(parameter.shape);
}

void StateArena::write(const Parameter& parameter, const Tensor& values) const {
  const ElementRange range = element_range(parameter);
  for (const Match& m : matches(range, values.reshape({range.size()}), range.begin)) m.shard.copy_from(m.full);
}

}  // namespace gyre
