#include "gyre/train/optim/parameter_groups.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

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

}  // namespace gyre
