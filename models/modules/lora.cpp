#include "gyre/models/modules/lora.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"

namespace gyre {
namespace {

constexpr const char* kAllLinear = "all-linear";

// Names of linear layers in transformers, which PEFT's target_modules has, and the names of the same layers in Gyre.
constexpr std::pair<std::string_view, std::string_view> kTheirModules[] = {
    {"o_proj", "out_proj"},   {"down_proj", "fc2"},
    {"c_attn", "qkv_proj"},   {"c_proj", "out_proj"},
    {"c_proj", "fc2"},        {"c_fc", "fc1"},
    {"query", "q_proj"},      {"key", "k_proj"},
    {"value", "v_proj"},      {"query_key_value", "qkv_proj"},
    {"dense_h_to_4h", "fc1"}, {"dense_4h_to_h", "fc2"}};

// The names of the matrices that a weight stacks.
struct Stack {
  std::string_view whole;
  std::vector<std::string_view> parts;
};
const std::vector<Stack>& stacks() {
  static const std::vector<Stack> all{{"qkv_proj", {"q_proj", "k_proj", "v_proj"}},
                                      {"kv_proj", {"k_proj", "v_proj"}},
                                      {"fc1", {"gate_proj", "up_proj"}}};
  return all;
}

bool matches(const std::string& pattern, const LinearModule& module) {
  const std::string last(last_part(module.name));
  const auto is_called = [&](const auto& word) { return word.first == pattern && word.second == last; };
  return pattern == kAllLinear || std::any_of(std::begin(kTheirModules), std::end(kTheirModules), is_called) ||
         fnmatch(pattern.c_str(), module.name.c_str(), 0) == 0 || fnmatch(pattern.c_str(), last.c_str(), 0) == 0;
}

// The last parts of the names of modules, each once.
std::string words_of(const std::vector<LinearModule>& modules) {
  std::string words;
  std::set<std::string_view> listed;
  for (const LinearModule& module : modules)
    if (listed.insert(last_part(module.name)).second) words += concat(last_part(module.name), ", ");
  return words + kAllLinear;
}

// The modules that a target chooses. Those of a weight follow one another, the whole after its parts.
std::vector<const LinearModule*> chosen(const std::vector<LinearModule>& modules, const std::string& target,
                                        bool fused) {
  std::vector<const LinearModule*> found;
  for (const LinearModule& module : modules) {
    if (!matches(target, module)) continue;
    if (module.is_whole()) {
      const auto is_part = [&](const LinearModule* other) { return other->weight == module.weight; };
      if (std::ranges::any_of(found, is_part) && !(fused && target == kAllLinear)) continue;
      std::erase_if(found, is_part);
    }
    found.push_back(&module);
  }
  return found;
}

}  // namespace

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

double LoraOptions::scale() const { return alpha / (rank_stabilized ? std::sqrt(double(rank)) : double(rank)); }

void LoraOptions::declare(OptionList& list) {
  list.group("Adapters (LoRA)");
  list.add(
      OnResume::other_data, "--lora-rank", &rank, "RANK",
      "train adapters of this rank beside the linear layers of --pretrained-model, whose weights stay as they are; "
      "0: none",
      {.bounds = at_least(0)});
  list.add(OnResume::other_data, "--lora-alpha", &alpha, "NUMBER",
           "the product of an adapter's matrices is multiplied by this number / rank", {.bounds = positive()});
  list.add(
      OnResume::other_data, "--lora-targets", &targets, "PATTERN...",
      "linear layers that get adapters: q_proj, k_proj, v_proj, out_proj, fc1 (if gated: gate_proj and up_proj, or "
      "fc1 for one adapter of both), fc2, all-linear, or patterns of their names with the wildcards * and ?",
      {.completions = {kAllLinear, "q_proj", "k_proj", "v_proj", "out_proj", "fc1", "gate_proj", "up_proj", "fc2"},
       .also_called = {"lora-target-modules", "lora-target", "target-modules", "lora-attn-modules"}});
  list.add(OnResume::other_bits, "--lora-dropout", &dropout, "RATE", "dropout rate on the inputs of the adapters",
           {.bounds = fraction()});
  list.add(OnResume::other_data, "--rslora", &rank_stabilized,
           "rank-stabilized: divide --lora-alpha by the square root of the rank",
           OptionDetails{.also_called = {"use-rslora", "rank-stabilized"}});
  for (const char* name : {"lora-alpha", "lora-targets", "lora-dropout", "rslora"})
    list.at(name).unused = [this] { return rank > 0 ? "" : "--lora-rank is 0"; };
}

void LoraOptions::validate(bool has_base) const {
  expect(rank == 0 || has_base, "--lora-rank", "a --pretrained-model, whose linear layers get the adapters", "none");
  expect(rank == 0 || !targets.empty(), "--lora-targets", "a pattern", "none");
}

std::vector<LinearModule> linear_modules(Parameters& base) {
  std::vector<LinearModule> modules;
  for (Parameter& weight : base) {
    if (weight.matrix_rows.empty()) continue;
    const std::string name = weight.name.substr(0, weight.name.rfind('.'));
    const auto stack = std::find_if(stacks().begin(), stacks().end(), [&](const Stack& each) {
      return each.whole == last_part(name) && each.parts.size() == weight.matrix_rows.size();
    });
    int64_t first = 0;
    for (size_t i = 0; stack != stacks().end() && i < weight.matrix_rows.size(); ++i) {
      const std::string part = concat(name.substr(0, name.rfind('.') + 1), stack->parts[i]);
      modules.push_back({part, &weight, first, weight.matrix_rows[i]});
      first += weight.matrix_rows[i];
    }
    modules.push_back({name, &weight, 0, weight.shape[0]});
  }
  return modules;
}

LoraAdapters::LoraAdapters(Parameters& base, const LoraOptions& options) : base_(base), options_(options) {
  for (Parameter& p : base) trainable_.push_back(std::exchange(p.trainable, false));
}

LoraAdapters::LoraAdapters(Parameters& base, const LoraOptions& options, bool fused) : LoraAdapters(base, options) {
  const std::vector<LinearModule> all = linear_modules(base);
  std::set<const LinearModule*> targets;
  for (const std::string& target : options.targets) {
    // In BERT, dense is out_proj, fc1, fc2 and lm_head.dense; in GPT-NeoX, out_proj alone.
    expect(target != "dense", "--lora-targets", "out_proj, fc1, fc2 or lm_head.dense instead of an ambiguous name",
           target);
    const std::vector<const LinearModule*> found = chosen(all, target, fused);
    expect(!found.empty(), "--lora-targets", concat("a pattern that matches one of ", words_of(all)), target);
    targets.insert(found.begin(), found.end());
  }
  for (const LinearModule& module : all)
    if (targets.contains(&module)) add(module);
}

void LoraAdapters::add(const LinearModule& module) {
  Parameter& weight = *module.weight;
  for (const LowRankAdapter& other : weight.adapters)
    expect(module.first >= other.first + other.rows || other.first >= module.first + module.rows, "--lora-targets",
           "one adapter for each row of a weight", concat("two for ", module.name));
  Parameter& a = parameters_.add(module.name + ".lora_A.weight", {options_.rank, weight.shape[1]},
                                 Init::uniform(1 / std::sqrt(double(weight.shape[1]))));
  Parameter& b = parameters_.add(module.name + ".lora_B.weight", {module.rows, options_.rank}, Init::constant(0));
  a.matrix_rows = {options_.rank};
  b.matrix_rows = {module.rows};
  weight.adapters.push_back({module.first, module.rows, &a, &b, options_.scale(), options_.dropout});
  modules_.push_back(module);
}

std::string LoraAdapters::describe() const {
  return concat("LoRA of rank ", options_.rank, " on ", counted(modules_.size(), "linear layer"));
}

namespace {

// weight[first ..] += scale b a, each element in one order of additions.
void add_product(const Tensor& weight, const LowRankAdapter& adapter) {
  const Tensor a = adapter.a->value.to_cpu(), b = adapter.b->value.to_cpu();
  const auto rank = size_t(a.dim(0)), columns = size_t(a.dim(1));
  const auto from_a = a.span<float>(), from_b = b.span<float>(), to = weight.span<float>();
  std::vector<double> sums(columns);
  for (int64_t row = 0; row < adapter.rows; ++row) {
    std::fill(sums.begin(), sums.end(), 0);
    for (size_t r = 0; r < rank; ++r) {
      const double factor = double(from_b[size_t(row) * rank + r]);
      for (size_t i = 0; i < columns; ++i) sums[i] += factor * double(from_a[r * columns + i]);
    }
    float* const out = &to[size_t(adapter.first + row) * columns];
    for (size_t i = 0; i < columns; ++i) out[i] = float(double(out[i]) + adapter.scale * sums[i]);
  }
}

}  // namespace

void LoraAdapters::merge() {
  for (Parameter& p : base_) {
    p.trainable = trainable_[size_t(p.index)];
    if (p.adapters.empty()) continue;
    const Tensor weight = p.value.to_cpu();
    for (const LowRankAdapter& adapter : p.adapters) add_product(weight, adapter);
    p.value.copy_from(weight);
    p.adapters.clear();
  }
}

}  // namespace gyre
