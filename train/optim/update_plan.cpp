#include "gyre/train/optim/update_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gyre/core/error.h"

namespace gyre {
namespace {

struct Span {  // a range of trainable elements of one group
  ElementRange range;
  ParameterGroup group;
};

// Neighbors of one group form one span. The gap between them is zero in all arenas and stays zero.
std::vector<Span> element_spans(const Parameters& parameters, const std::vector<ParameterGroup>& groups, bool whole) {
  const auto updated = [&](const Parameter& p) { return p.trainable && !(whole && is_updated_whole(p)); };
  std::vector<Span> spans;
  for (const Parameter& p : parameters) {
    if (!updated(p)) continue;
    const ParameterGroup& group = groups[size_t(p.index)];
    const int64_t end = p.offset + p.shape.elements();
    const bool neighbor = !spans.empty() && p.index > 0 && updated(parameters[size_t(p.index) - 1]);
    if (neighbor && spans.back().group == group) {
      spans.back().range.end = end;
    } else {
      spans.push_back({{p.offset, end}, group});
    }
  }
  return spans;
}

class RangeTable {
 public:
  explicit RangeTable(const GradientPositions& gradients) : gradients_(gradients) {}

  // `covered`: the ranges that the state covers.
  void add(const Span& span, const PackedRanges& covered) {
    for (const auto& [begin, end] : intersection(covered.ranges(), {span.range})) {
      table_.insert(table_.end(), {int32_t(units_), int32_t(units(begin)), int32_t(units(gradients_.position(begin))),
                                   int32_t(units(covered.position(begin))), row_of(span.group)});
      units_ += units(end - begin);
    }
  }

  UpdateRanges ranges(Device device) const {
    std::vector<double> columns;
    for (const ParameterGroup& group : groups_) columns.insert(columns.end(), {group.rate_factor, group.weight_decay});
    return {.table = Tensor::from({int64_t(table_.size()) / UpdateRanges::kColumns, UpdateRanges::kColumns}, table_),
            .groups = Tensor::from({int64_t(groups_.size()), UpdateRanges::kGroupColumns}, columns).to(device),
            .units = units_};
  }

 private:
  static int64_t units(int64_t elements) { return (elements + kUpdateUnit - 1) / kUpdateUnit; }
  int32_t row_of(const ParameterGroup& group) {
    const auto found = std::find(groups_.begin(), groups_.end(), group);
    const auto row = int32_t(found - groups_.begin());
    if (found == groups_.end()) groups_.push_back(group);
    return row;
  }

  const GradientPositions& gradients_;
  std::vector<int32_t> table_;
  std::vector<ParameterGroup> groups_;
  int64_t units_ = 0;
};

bool owns(const std::vector<ElementRange>& owned, ElementRange range) {
  const bool any =
      std::any_of(owned.begin(), owned.end(), [&](const ElementRange& own) { return overlap(own, range); });
  const bool all = std::any_of(owned.begin(), owned.end(), [&](const ElementRange& own) {
    return own.begin <= range.begin && range.end <= own.end;
  });
  require(any == all, "[optimizer] expected a partition that does not divide matrices");
  return all;
}

// `gradients`: null if another rank owns the parameter. `state`: the next element of this rank's state, moved on.
void add_matrices(UpdatePlan& plan, const Parameter& p, const ParameterGroup& group, const GradientPositions* gradients,
                  int64_t& state) {
  int64_t begin = p.offset;
  for (const int64_t rows : p.matrix_rows) {
    const UpdateMatrix matrix{.begin = begin,
                              .gradient = gradients ? gradients->position(begin) : 0,
                              .state = state,
                              .row_state = plan.matrix_rows,
                              .rows = rows,
                              .cols = p.shape[1],
                              .group = group};
    begin += matrix.elements();
    plan.matrix_rows += rows;
    if (!gradients) continue;
    state += matrix.elements();
    plan.matrices.push_back(matrix);
  }
}

// The range of a parameter with the gap after it.
ElementRange arena_range(const Parameters& parameters, const Parameter& p) {
  const size_t next = size_t(p.index) + 1;
  return {p.offset, next < parameters.count() ? parameters[next].offset : parameters.values().size()};
}

double operations(const Parameter& p) {
  double sum = 0;
  for (const int64_t rows : p.matrix_rows) {
    const auto [least, most] = std::minmax({double(rows), double(p.shape[1])});
    sum += most * least * least;
  }
  return sum;
}

}  // namespace

std::vector<ElementRange> ranges_of_whole(const Parameters& parameters, bool whole) {
  std::vector<ElementRange> ranges;
  for (const Parameter& p : parameters) {
    if (is_updated_whole(p) != whole) continue;
    const ElementRange range = arena_range(parameters, p);
    if (!ranges.empty() && ranges.back().end == range.begin && !whole) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

std::vector<ArenaRun> runs_of_matrices(const Parameters& parameters, int ranks) {
  std::vector<ArenaRun> runs;
  for (const ElementRange& range : ranges_of_whole(parameters, false)) runs.push_back({range});
  std::vector<std::pair<double, const Parameter*>> work;
  for (const Parameter& p : parameters) {
    if (is_updated_whole(p)) work.emplace_back(operations(p), &p);
  }
  std::stable_sort(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<double> load(size_t(ranks), 0);
  for (const auto& [operations, p] : work) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += operations;
    runs.push_back({arena_range(parameters, *p), int(least - load.begin())});
  }
  std::sort(runs.begin(), runs.end(),
            [](const ArenaRun& a, const ArenaRun& b) { return a.range.begin < b.range.begin; });
  return runs;
}

void require_countable(const Parameters& parameters) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() * kUpdateUnit;
  require(parameters.values().size() <= kMost, "[optimizer] expected a model of at most ", kMost, " parameters, got ",
          parameters.values().size());
}

UpdatePlan plan_update(const Parameters& parameters, const std::vector<ParameterGroup>& groups,
                       const OptimizerPartition& partition, bool whole, Device device) {
  require_countable(parameters);
  const std::vector<ElementRange> owned = partition.owned();
  const PackedRanges elements(whole ? intersection(owned, ranges_of_whole(parameters, false)) : owned);
  const GradientPositions gradients(partition);
  RangeTable table(gradients);
  for (const Span& span : element_spans(parameters, groups, whole)) table.add(span, elements);
  UpdatePlan plan{.elements = table.ranges(device), .matrices = {}};
  int64_t state = 0;
  for (const Parameter& p : parameters) {
    if (!whole || !is_updated_whole(p)) continue;
    const bool own = owns(owned, element_range(p));
    add_matrices(plan, p, groups[size_t(p.index)], own ? &gradients : nullptr, state);
    if (own) state = (state + kUpdateUnit - 1) / kUpdateUnit * kUpdateUnit;  // the arenas are rounded alike
  }
  return plan;
}

}  // namespace gyre
