#include "autograd/tape_rows.h"

#include <algorithm>
#include <map>
#include <set>

#include "autograd/module_path.h"

namespace gyre {
namespace {

// Which node a storage counts with: the first that keeps it.
class Holders {
 public:
  explicit Holders(const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
      if (node.parameter) holders_[node.value.owner().get()] = -1;
  }
  bool is_parameter(const Tensor& tensor) const {
    const auto found = holders_.find(tensor.owner().get());
    return found != holders_.end() && found->second < 0;
  }
  // Bytes that count with this node: those of a storage that it is the first to keep.
  size_t claim(const Tensor& tensor, int node) {
    const auto [found, fresh] = holders_.emplace(tensor.owner().get(), node);
    return fresh ? tensor.bytes() : 0;
  }
  // Of a claimed one; -1: a parameter's.
  int holder(const Tensor& tensor) const { return holders_.at(tensor.owner().get()); }

 private:
  std::map<const void*, int> holders_;
};

void read_inputs(TapeRow& row, const Node& node, const Holders& holders, OpFacts& facts) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& value = node.input_values[i];
    if (!value) continue;
    row.inputs.push_back({node.inputs[i], value.shape()});
    if (node.inputs[i] < 0 && !holders.is_parameter(value)) facts.save("constant", value);
  }
}

void read_saved(TapeRow& row, const OpFacts& facts, Holders& holders) {
  for (const auto& [name, tensor] : facts.saved) {
    row.saved_bytes += holders.claim(tensor, row.id);
    row.saved.push_back({name, tensor.shape(), tensor.dtype(), tensor.bytes(), holders.holder(tensor)});
  }
}

// Adds rows up by module.
class Totals {
 public:
  explicit Totals(const std::vector<TapeRow>& rows) {
    of("");
    for (const TapeRow& row : rows)
      if (!row.parameter.empty()) parameters_[row.id] = row.shape.elements();
  }

  void add(const TapeRow& row) {
    for (int depth = 0; depth <= names_in(row.module); ++depth) {
      const std::string path = cut_path(row.module, depth);
      ModuleTotals& sum = of(path);
      sum.ops += !row.leaf;
      sum.saved_bytes += row.saved_bytes;
      sum.flops += row.flops;
      for (const TapeInput& input : row.inputs)
        if (parameters_.contains(input.node) && used_.emplace(path, input.node).second)
          sum.parameters += parameters_[input.node];
    }
  }

  std::vector<ModuleTotals> take() { return std::move(sums_); }

 private:
  ModuleTotals& of(const std::string& path) {
    const auto [place, fresh] = places_.emplace(path, sums_.size());
    if (fresh) sums_.push_back({.path = path});
    return sums_[place->second];
  }

  std::vector<ModuleTotals> sums_;
  std::map<std::string, size_t> places_;
  std::map<int, int64_t> parameters_;  // numbers in each leaf of one
  std::set<std::pair<std::string, int>> used_;
};

}  // namespace

std::vector<TapeRow> tape_rows(const Tape& tape) {
  std::vector<TapeRow> rows;
  Holders holders(tape.nodes());
  for (const Node& node : tape.nodes()) {
    TapeRow& row = rows.emplace_back();
    row.id = int(rows.size()) - 1;
    row.module = node.module;
    row.op = node.name();
    row.shape = node.value.shape();
    row.dtype = node.value.dtype();
    row.output_bytes = row.saved_bytes = holders.claim(node.value, row.id);
    row.leaf = !node.op;
    if (node.parameter) row.parameter = node.parameter->name;
    if (row.leaf) continue;
    OpFacts facts;
    node.op->describe(facts);
    read_inputs(row, node, holders, facts);
    read_saved(row, facts, holders);
    row.formula = node.op->formula();
    row.attributes = std::move(facts.attributes);
    row.flops = node.op->flops();
  }
  return rows;
}

std::vector<TapeRow> rows_of_module(const std::vector<TapeRow>& rows, std::string_view module) {
  std::set<int> wanted;
  for (const TapeRow& row : rows) {
    if (row.leaf || !in_module(row.module, module)) continue;
    wanted.insert(row.id);
    for (const TapeInput& input : row.inputs)
      if (input.node >= 0 && rows[size_t(input.node)].leaf) wanted.insert(input.node);
  }
  std::vector<TapeRow> chosen;
  for (const int id : wanted) chosen.push_back(rows[size_t(id)]);
  return chosen;
}

std::vector<ModuleTotals> module_totals(const std::vector<TapeRow>& rows) {
  Totals totals(rows);
  for (const TapeRow& row : rows) totals.add(row);
  return totals.take();
}

}  // namespace gyre
