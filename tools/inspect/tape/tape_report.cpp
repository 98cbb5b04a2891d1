#include "tools/inspect/tape/tape_report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {
namespace {

Json to_json(const Tensor& tensor) {
  return tensor ? tensor_json(tensor.shape(), tensor.dtype(), compute_stats(tensor)) : Json();
}

Json to_json(const BackwardStep::Input& input) {
  return {{"node", input.node},
          {"name", input.name},
          {"value", to_json(input.value)},
          {"gradient", to_json(input.gradient)}};
}

Json to_json(const BackwardStep& step) {
  Json attributes = Json::object(), saved = Json::array(), inputs = Json::array();
  for (const auto& [name, value] : step.metadata.attributes) attributes[name] = value;
  for (const auto& [name, tensor] : step.metadata.saved) saved.push_back({{"name", name}, {"value", to_json(tensor)}});
  for (const BackwardStep::Input& input : step.inputs) inputs.push_back(to_json(input));
  return {{"node", step.node},
          {"op", step.op},
          {"module", step.module},
          {"formula", step.formula},
          {"attributes", attributes},
          {"saved", saved},
          {"output", to_json(step.output)},
          {"doutput", to_json(step.doutput)},
          {"inputs", inputs}};
}

}  // namespace

// A tensor without finite elements has no range.
Json tensor_json(const Shape& shape, DType dtype, const TensorStats& stats) {
  const bool has_range = stats.min <= stats.max;
  return {{"shape", shape_json(shape)},
          {"dtype", to_string(dtype)},
          {"min", has_range ? Json(stats.min) : Json()},
          {"max", has_range ? Json(stats.max) : Json()},
          {"norm", stats.norm},
          {"nan", stats.nan},
          {"infinite", stats.infinite}};
}

Json steps_json(const std::vector<BackwardStep>& steps) {
  Json all = Json::array();
  for (const BackwardStep& step : steps) all.push_back(to_json(step));
  return all;
}

namespace {

Json to_json(const TapeRow& row) {
  Json attributes = Json::object(), inputs = Json::array(), saved = Json::array();
  for (const auto& [name, value] : row.attributes) attributes[name] = value;
  for (const TapeInput& input : row.inputs)
    inputs.push_back({{"node", input.node}, {"shape", shape_json(input.shape)}});
  for (const SavedTensor& s : row.saved)
    saved.push_back({{"name", s.name},
                     {"shape", shape_json(s.shape)},
                     {"dtype", to_string(s.dtype)},
                     {"bytes", s.bytes},
                     {"holder", s.holder}});
  Json summary{{"id", row.id}, {"module", row.module}, {"op", row.op}};
  if (!row.parameter.empty()) summary["parameter"] = row.parameter;
  summary.update({{"attributes", attributes},
                  {"inputs", inputs},
                  {"shape", shape_json(row.shape)},
                  {"dtype", to_string(row.dtype)},
                  {"saved", saved},
                  {"output_bytes", row.output_bytes},
                  {"saved_bytes", row.saved_bytes},
                  {"flops", row.flops},
                  {"formula", row.formula}});
  return summary;
}

Json to_json(const ModuleTotals& totals) {
  return {{"path", totals.path},
          {"ops", totals.ops},
          {"parameters", totals.parameters},
          {"saved_bytes", totals.saved_bytes},
          {"flops", totals.flops}};
}

// A table whose columns fit their cells. Columns of numbers are right-aligned.
class Table {
 public:
  Table(std::vector<std::string> heads, std::vector<bool> numbers) : numbers_(std::move(numbers)) {
    add(std::move(heads));
  }
  void add(std::vector<std::string> cells) {
    widths_.resize(cells.size());
    for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    lines_.push_back(std::move(cells));
  }
  void print() const {
    for (const auto& cells : lines_) {
      std::string line;
      for (size_t i = 0; i < cells.size(); ++i) {
        const std::string gap(widths_[i] - cells[i].size(), ' ');
        line += (i > 0 ? "  " : "") + (numbers_[i] ? gap + cells[i] : cells[i] + gap);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      std::puts(line.c_str());
    }
  }

 private:
  std::vector<bool> numbers_;
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> lines_;
};

std::string attributes_of(const std::vector<TapeRow>& rows, const TapeRow& row) {
  std::string text = shown_parameter(rows, row);
  for (const auto& [name, value] : row.attributes) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

std::string inputs_of(const TapeRow& row) {
  std::string text;
  for (const TapeInput& input : row.inputs)
    text += (text.empty() ? "" : " ") + (input.node < 0 ? to_string(input.shape) : std::to_string(input.node));
  return text;
}

std::string flops_of(double flops) { return flops > 0 ? human_count(flops) + "FLOP" : ""; }

void print_modules(const std::vector<ModuleTotals>& modules, int depth) {
  Table table({"module", "ops", "parameters", "saved", "FLOPs"}, {false, true, true, true, true});
  const int outermost = path_depth(modules.front().path);
  for (const ModuleTotals& totals : modules) {
    if (path_depth(totals.path) - outermost > depth) continue;
    table.add({totals.path.empty() ? "(all)" : totals.path, std::to_string(totals.ops),
               human_count(double(totals.parameters)), human_bytes(double(totals.saved_bytes)),
               flops_of(totals.flops)});
  }
  table.print();
}

// Totals of the module, then of the modules in it.
std::vector<ModuleTotals> totals_of(const std::vector<TapeRow>& rows, const std::string& module) {
  std::vector<ModuleTotals> modules = module_totals(rows);
  std::erase_if(modules, [&](const ModuleTotals& totals) { return !in_module(totals.path, module); });
  return modules;
}

}  // namespace

std::string shown_name(const std::string& name, std::string_view module) {
  constexpr std::string_view kInFiles = "encoder.";
  const bool is_renamed = name.starts_with(kInFiles) && in_module(module, "decoder");
  return is_renamed ? concat("decoder.", name.substr(kInFiles.size())) : name;
}

std::string shown_parameter(const std::vector<TapeRow>& rows, const TapeRow& parameter) {
  const auto first = std::ranges::find(rows, false, &TapeRow::leaf);
  return shown_name(parameter.parameter, first == rows.end() ? "" : first->module);
}

Json shape_json(const Shape& shape) {
  Json dims = Json::array();
  for (int i = 0; i < shape.rank(); ++i) dims.push_back(shape[i]);
  return dims;
}

Json tape_json(const std::vector<TapeRow>& rows, const std::string& module) {
  Json nodes = Json::array(), modules = Json::array();
  for (const TapeRow& row : rows_of_module(rows, module)) nodes.push_back(to_json(row));
  const std::vector<ModuleTotals> totals = totals_of(rows, module);
  for (const ModuleTotals& t : totals)
    if (!t.path.empty()) modules.push_back(to_json(t));
  return {{"nodes", nodes}, {"modules", modules}, {"totals", to_json(totals.front())}};
}

void print_tape(const std::vector<TapeRow>& rows, const std::string& module, int depth) {
  Table table({"id", "module", "op", "attributes", "inputs", "output", "saved", "FLOPs"},
              {true, false, false, false, false, false, true, true});
  for (const TapeRow& row : rows_of_module(rows, module))
    table.add({std::to_string(row.id), row.module, row.op, attributes_of(rows, row), inputs_of(row),
               to_string(row.shape), row.saved_bytes > 0 ? human_bytes(double(row.saved_bytes)) : "",
               flops_of(row.flops)});
  table.print();
  std::puts("");
  print_modules(totals_of(rows, module), depth);
}

void print_formulas(const std::vector<TapeRow>& rows, const std::string& module) {
  std::set<std::string> known;
  for (const TapeRow& row : rows_of_module(rows, module))
    if (!row.formula.empty() && known.insert(row.op).second)
      std::printf("\n%s\n%.*s\n", row.op.c_str(), int(row.formula.size()), row.formula.data());
}

}  // namespace gyre
