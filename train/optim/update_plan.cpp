#include "gyre/train/optim/update_plan.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/option_checks.h"

namespace gyre {

namespace {

bool matches(const Parameter& p, const std::string& pattern) {
  return fnmatch(pattern.c_str(), p.name.c_str(), 0) == 0;
}

// A name is split at ".layers.N.", in the stack itself or in its position encoding.
struct LayerName {
  std::string_view prefix;  // the part before N, empty if the parameter belongs to no layer
  int layer = -1;
};

LayerName layer_of(std::string_view name) {
  constexpr std::string_view kLayers = "layers.";
  const size_t at = name.find(kLayers);
  if (at == std::string_view::npos) return {};
  LayerName found{name.substr(0, at + kLayers.size())};
  std::from_chars(name.data() + at + kLayers.size(), name.data() + name.size(), found.layer);
  return found;
}

// The names of all parameters, with * for the numbers of layers.
std::string names_of(const Parameters& parameters) {
  std::string names;
  std::set<std::string> listed;
  for (const Parameter& p : parameters) {
    std::string name = p.name;
    if (const LayerName layer = layer_of(name); layer.layer >= 0)
      name.replace(layer.prefix.size(), std::to_string(layer.layer).size(), "*");
    if (listed.insert(name).second) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

void expect_match(const Parameters& parameters, const char* option, const std::string& pattern) {
  const bool any =
      std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& p) { return matches(p, pattern); });
  expect(any, option, concat("a pattern that matches one of ", names_of(parameters)), pattern);
}

double last_match(const Parameter& p, const std::vector<PatternValue>& values, double otherwise) {
  for (const PatternValue& of : values) {
    if (matches(p, of.pattern)) otherwise = of.value;
  }
  return otherwise;
}

// The number of layers of the only stack, "encoder" or "decoder".
int count_layers(const Parameters& parameters) {
  std::string_view stack;
  int layers = 0;
  for (const Parameter& p : parameters) {
    const LayerName name = layer_of(p.name);
    if (name.layer < 0) continue;
    const std::string_view own = name.prefix.substr(0, name.prefix.find('.'));
    expect(stack.empty() || stack == own, "--layer-decay", "a model with one stack of layers", p.name);
    stack = own;
    layers = std::max(layers, name.layer + 1);
  }
  expect(layers > 0, "--layer-decay", "a model with layers", "none");
  return layers;
}

// Tables, their projection and norm, and position encodings that all layers share.
bool is_embedding(const Parameter& p) {
  if (p.is_table) return true;
  constexpr const char* kPrefixes[] = {"embed_", "encoder.embed", "encoder.layernorm_embedding"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](const char* prefix) { return p.name.starts_with(prefix); });
}

void decay_by_layer(std::vector<ParameterGroup>& groups, const Parameters& parameters, double factor) {
  const int layers = count_layers(parameters);
  for (const Parameter& p : parameters) {
    const int layer = layer_of(p.name).layer, depth = layer >= 0 ? layer + 1 : is_embedding(p) ? 0 : layers + 1;
    groups[size_t(p.index)].rate_factor *= std::pow(factor, layers + 1 - depth);
  }
}

}  // namespace

std::vector<ParameterGroup> parameter_groups(const Parameters& parameters, const OptimizerOptions& options) {
  for (const PatternValue& of : options.rate_factors) expect_match(parameters, "--rate-for", of.pattern);
  for (const PatternValue& of : options.decays) expect_match(parameters, "--decay-for", of.pattern);
  std::vector<ParameterGroup> groups;
  for (const Parameter& p : parameters) {
    groups.push_back(
        {last_match(p, options.rate_factors, 1), last_match(p, options.decays, p.decay ? options.weight_decay : 0)});
  }
  if (options.layer_decay != 1) decay_by_layer(groups, parameters, options.layer_decay);
  return groups;
}

void freeze(Parameters& parameters, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return;
  for (const std::string& pattern : patterns) {
    expect_match(parameters, "--freeze", pattern);
    for (Parameter& p : parameters) p.trainable = p.trainable && !matches(p, pattern);
  }
  const bool any = std::any_of(parameters.begin(), parameters.end(), [](const Parameter& p) { return p.trainable; });
  expect(any, "--freeze", "patterns that leave parameters to train", patterns.back());
}

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

std::vector<ArenaSpan> spans_of_matrices(const Parameters& parameters, int ranks) {
  std::vector<ArenaSpan> spans;
  for (const ElementRange& range : ranges_of_whole(parameters, false)) spans.push_back({range});
  std::vector<std::pair<double, const Parameter*>> work;
  for (const Parameter& p : parameters) {
    if (is_updated_whole(p)) work.emplace_back(operations(p), &p);
  }
  std::stable_sort(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<double> load(size_t(ranks), 0);
  for (const auto& [operations, p] : work) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += operations;
    spans.push_back({arena_range(parameters, *p), int(least - load.begin())});
  }
  std::sort(spans.begin(), spans.end(),
            [](const ArenaSpan& a, const ArenaSpan& b) { return a.range.begin < b.range.begin; });
  return spans;
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
