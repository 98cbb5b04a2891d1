#include "gyre/autograd/inspect/tape_rows.h"

#include <algorithm>
#include <map>
#include <set>

namespace gyre {

bool in_module(std::string_view path, std::string_view module) {
  return module.empty() || path == module || (path.starts_with(module) && path[module.size()] == '.');
}

int path_depth(std::string_view path) { return path.empty() ? 0 : 1 + int(std::count(path.begin(), path.end(), '.')); }

std::string path_prefix(const std::string& path, int depth) {
  size_t end = 0;
  for (int i = 0; i < depth && end != std::string::npos; ++i) end = path.find('.', i == 0 ? 0 : end + 1);
  return path.substr(0, end);
}

namespace {

// Maps each storage to the node that its memory is attributed to: the first node that keeps it.
class StorageOwners {
 public:
  explicit StorageOwners(const std::vector<Node>& nodes) {
    for (const Node& node : nodes)
      if (node.parameter) owners_[node.value.owner().get()] = -1;
  }
  bool is_parameter(const Tensor& tensor) const {
    const auto found = owners_.find(tensor.owner().get());
    return found != owners_.end() && found->second < 0;
  }
  // Bytes attributed to this node: those of the tensor if the node is the first to keep its storage, else 0.
  size_t claim(const Tensor& tensor, int node) {
    const auto [found, fresh] = owners_.emplace(tensor.owner().get(), node);
    return fresh ? tensor.bytes() : 0;
  }
  // The node to which a claimed storage is attributed; -1 for a parameter's storage.
  int owner(const Tensor& tensor) const { return owners_.at(tensor.owner().get()); }

 private:
  std::map<const void*, int> owners_;
};

void read_inputs(TapeRow& row, const Node& node, const StorageOwners& owners, OpMetadata& metadata) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& value = node.input_values[i];
    if (!value) continue;
    row.inputs.push_back({node.inputs[i], value.shape()});
    if (node.inputs[i] < 0 && !owners.is_parameter(value)) metadata.save("constant", value);
  }
}

void read_saved(TapeRow& row, const OpMetadata& metadata, StorageOwners& owners) {
  for (const auto& [name, tensor] : metadata.saved) {
    row.saved_bytes += owners.claim(tensor, row.id);
    row.saved.push_back({name, tensor.shape(), tensor.dtype(), tensor.bytes(), owners.owner(tensor)});
  }
}

// Sums rows by module.
class Totals {
 public:
  explicit Totals(const std::vector<TapeRow>& rows) {
    of("");
    for (const TapeRow& row : rows)
      if (!row.parameter.empty()) parameters_[row.id] = row.shape.elements();
  }

  void add(const TapeRow& row) {
    for (int depth = 0; depth <= path_depth(row.module); ++depth) {
      const std::string path = path_prefix(row.module, depth);
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
  std::map<int, int64_t> parameters_;  // leaf of a parameter -> number of elements
  std::set<std::pair<std::string, int>> used_;
};

}  // namespace

std::vector<TapeRow> tape_rows(const Tape& tape) {
  std::vector<TapeRow> rows;
  StorageOwners owners(tape.nodes());
  for (const Node& node : tape.nodes()) {
    TapeRow& row = rows.emplace_back();
    row.id = int(rows.size()) - 1;
    row.module = node.module;
    row.op = node.name();
    row.shape = node.value.shape();
    row.dtype = node.value.dtype();
    row.output_bytes = row.saved_bytes = owners.claim(node.value, row.id);
    row.leaf = !node.op;
    if (node.parameter) row.parameter = node.parameter->name;
    if (row.leaf) continue;
    OpMetadata metadata;
    node.op->describe(metadata);
    read_inputs(row, node, owners, metadata);
    read_saved(row, metadata, owners);
    row.formula = node.op->formula();
    row.attributes = std::move(metadata.attributes);
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
