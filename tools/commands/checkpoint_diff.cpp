// gyre checkpoint diff: compares two checkpoints.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/data/text/utf8.h"
#include "gyre/train/checkpoint/manifest.h"
#include "gyre/train/checkpoint/model_file.h"
#include "tools/program.h"

namespace gyre {
namespace {

struct DiffArgs {
  std::vector<Path> checkpoints;
  bool json = false;
};

// A tensor whose bits differ between the checkpoints.
struct Difference {
  std::string file, name, what;  // what: the difference if the values cannot be compared
  double largest = 0;            // |a - b|
  double relative = 0;           // |a - b| / |a|, by Euclidean norms
};

// Reads a tensor of any type as doubles.
std::vector<double> numbers(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  const Tensor tensor = file.read(entry);
  if (tensor.dtype() == DType::i32) {
    const auto values = tensor.to_vector<int32_t>();
    return {values.begin(), values.end()};
  }
  return tensor.to(DType::f64).to_vector<double>();
}

void compare_numbers(const std::vector<double>& a, const std::vector<double>& b, Difference& difference) {
  double apart = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    difference.largest = std::isnan(d) ? d : std::max(difference.largest, d);
    apart += d * d;
    size += a[i] * a[i];
  }
  difference.relative = std::sqrt(apart / size);
}

std::vector<Difference> compare_files(const std::string& name, const Path& a, const Path& b) {
  const SafetensorsFile first(a / name), second(b / name);
  std::vector<Difference> differences;
  for (const auto& entry : first.entries()) {
    const SafetensorsEntry* other = second.find(entry.name);
    Difference d{name, entry.name, ""};
    if (other == nullptr) {
      d.what = "only in the first";
    } else if (other->dtype != entry.dtype || other->shape != entry.shape) {
      d.what = concat(entry.dtype, " ", entry.shape_text(), " and ", other->dtype, " ", other->shape_text());
    } else if (!std::ranges::equal(first.bytes(entry), second.bytes(*other))) {
      compare_numbers(numbers(first, entry), numbers(second, *other), d);
    } else {
      continue;
    }
    differences.push_back(d);
  }
  for (const auto& entry : second.entries()) {
    if (first.find(entry.name) == nullptr) differences.push_back({name, entry.name, "only in the second"});
  }
  return differences;
}

std::set<std::string> tensor_files(const Json& manifest) {
  std::set<std::string> names;
  for (const auto& [name, checksums] : manifest.at("tensors").items()) names.insert(name);
  return names;
}

// Differences between the two state.json, without the tensors' checksums: {"/progress/updates": [100, 200]}.
Json compare_states(Json a, Json b) {
  for (Json* state : {&a, &b}) state->erase("tensors");
  Json differences = Json::object();
  const Json first = a.flatten(), second = b.flatten();
  for (const Json* side : {&first, &second}) {
    for (const auto& [path, value] : side->items()) {
      const Json x = first.value(path, Json()), y = second.value(path, Json());
      if (x != y) differences[path] = {x, y};
    }
  }
  return differences;
}

Json to_json(const std::vector<Difference>& differences) {
  Json list = Json::array();
  for (const Difference& d : differences) {
    Json& item = list.emplace_back(Json{{"file", d.file}, {"tensor", d.name}});
    if (d.what.empty()) {
      item.update({{"largest", d.largest}, {"relative", d.relative}});
    } else {
      item["difference"] = d.what;
    }
  }
  return list;
}

void print(const Json& state, const std::vector<Difference>& tensors) {
  for (const auto& [path, values] : state.items())
    std::cout << printable_line(path) << ": " << json_text(values[0]) << " -> " << json_text(values[1]) << '\n';
  for (const Difference& d : tensors) {
    std::cout << printable_line(concat(d.file, ": ", d.name)) << ": ";
    if (d.what.empty()) {
      std::cout << "largest difference " << d.largest << ", relative " << d.relative << '\n';
    } else {
      std::cout << printable_line(d.what) << '\n';
    }
  }
  if (tensors.empty()) std::cout << "all tensors have the same bits\n";
}

// Returns 1 if a tensor differs, like diff(1).
int diff(const DiffArgs& args) {
  if (args.checkpoints.size() != 2)
    throw UsageError("--model: expected two runs or checkpoints, got ", args.checkpoints.size());
  const Path a = find_model_file(args.checkpoints[0]).parent_path(),
             b = find_model_file(args.checkpoints[1]).parent_path();
  const Json first = read_manifest(a), second = read_manifest(b);
  std::vector<Difference> tensors;
  const std::set<std::string> files = tensor_files(first), others = tensor_files(second);
  for (const std::string& name : files) {
    if (others.count(name) == 0) {
      tensors.push_back({name, "all", "only in the first"});
      continue;
    }
    const std::vector<Difference> found = compare_files(name, a, b);
    tensors.insert(tensors.end(), found.begin(), found.end());
  }
  for (const std::string& name : others) {
    if (files.count(name) == 0) tensors.push_back({name, "all", "only in the second"});
  }
  const Json state = compare_states(first, second);
  if (args.json) {
    std::cout << json_text({{"state", state}, {"tensors", to_json(tensors)}}) << '\n';
  } else {
    print(state, tensors);
  }
  return tensors.empty() ? 0 : 1;
}

}  // namespace

void add_checkpoint_diff_command(Program& program) {
  auto args = std::make_shared<DiffArgs>();
  OptionTable& table = program.command("checkpoint diff", "compare two checkpoints; exit status 1 if a tensor differs",
                                       [args] { return diff(*args); });
  table.add("--model,-m", args->checkpoints, "DIRECTORY...", "two runs or checkpoint directories");
  table.required("model");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
