// Options of position encodings: config.json has exactly the options that the encodings' files declare.
#include <doctest/doctest.h>

#include <set>
#include <variant>

#include "gyre/core/io/json.h"
#include "gyre/models/position/position.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"
#include "tests/errors.h"
#include "tests/models/position_config.h"
#include "tests/models/tiny_model.h"

namespace gyre {
namespace {

// Written by version 0.1.0.
constexpr const char* kOldConfig = R"({
  "model": "encoder-decoder", "vocab_size": 300, "dim": 16, "ffn": 16, "heads": 2, "norm": "post", "final_norm": true,
  "activation": "relu", "dropout": 0.1, "attention_dropout": 0.0, "activation_dropout": 0.0,
  "layer_norm_epsilon": 1e-05, "initial_deviation": 0.0,
  "position": {
    "encoding": "tupe", "max_positions": 77, "sinusoid_layout": "half-split", "rope_base": 10000.0,
    "rope_pairs": "interleaved", "rotary_dims": 0, "rope_learnable": false, "rope_rotate_cross": false,
    "rope_step": 1.0, "rope_scaling": "none", "rope_scaling_factor": 1.0, "rope_original_length": 512,
    "shaw_clip": 16, "shaw_values": true, "bias_buckets": 32, "bias_max_distance": 128, "tupe_bias": true,
    "deberta_clip": 512, "wavelet": "ricker", "wavelet_scales": [], "wavelet_shifts": [],
    "wavelet_time": "key-minus-query"
  },
  "attention": {
    "kind": "softmax", "window": 256, "linear_map": "elu+1", "linear_rope": "post-map", "favor_features": 0,
    "favor_redraw": 1000
  },
  "encoder_layers": 4, "decoder_layers": 4, "tied_embeddings": true, "tied_output": true, "scale_embedding": true
})";

struct Change {
  void operator()(std::monostate) const { FAIL("an option without a field"); }
  void operator()(std::string* value) const { *value += "-"; }
  void operator()(bool* value) const { *value = !*value; }
  void operator()(int64_t* value) const { *value += 7; }
  void operator()(double* value) const { *value += 0.3; }
  void operator()(std::vector<double>* value) const { *value = {0.1, -0x1p127}; }
  void operator()(const EnumPointer& value) const { value.parse("option", value.names().back()); }
};

std::vector<std::string> keys_of(const OptionList& options) {
  std::vector<std::string> keys;
  for (const OptionList::Entry& entry : options.entries()) keys.push_back(key_of(entry.option));
  return keys;
}

Json json_of(const PositionConfig& position) {
  EncoderDecoderConfig config = test::tiny_config();
  config.position = position;
  return config.to_json()["position"];
}

}  // namespace

TEST_CASE("config.json has every option that an encoding declares, once, and no others") {
  PositionConfig config;
  const Json json = json_of(config);
  std::vector<std::string> keys;
  for (const auto& item : json.items()) keys.push_back(item.key());
  std::vector<std::string> expected = keys_of(config.options());
  expected.insert(expected.begin(), "encoding");
  CHECK(keys == expected);
  CHECK(std::set<std::string>(keys.begin(), keys.end()).size() == keys.size());

  std::set<std::string> read;
  for (const std::string& encoding : position_encoding_names()) {
    config.encoding = encoding;
    for (const std::string& key : keys_of(config.options_read())) read.insert(key);
  }
  CHECK(read.size() == expected.size() - 1);
}

TEST_CASE("every option of every encoding is written to JSON and read back") {
  const Json defaults = json_of(PositionConfig());
  PositionConfig changed;
  const OptionList options = changed.options();
  for (const OptionList::Entry& entry : options.entries()) std::visit(Change(), entry.option.value.field);
  const Json json = json_of(changed);
  for (const auto& [key, value] : json.items()) {
    CAPTURE(key);
    CHECK((value != defaults.at(key)) == (key != "encoding"));
  }
  const PositionConfig read = test::position_config("rope", Json::parse(json.dump()));
  CHECK(json_of(read) == json);
  CHECK(read.get<RopeOptions>().step == 1.3);
  CHECK(read.get<PositionTableOptions>().max_positions == 1031);
}

TEST_CASE("a config.json of an earlier version is read, and written as it was") {
  const Json old = Json::parse(kOldConfig);
  EncoderDecoderConfig config = EncoderDecoderConfig::from_json(old);
  Json written = config.to_json();
  for (const char* later : {"nezha_clip", "rope_rotate_values", "rope_low_freq_factor", "rope_high_freq_factor"})
    CHECK(written["position"].erase(later) == 1);
  for (const char* later : {"target_vocab_size", "output_bias"}) CHECK(written.erase(later) == 1);
  CHECK(IndexedJson(written) == IndexedJson(old));  // the order of the keys may differ
  CHECK(config.position.get<PositionTableOptions>().max_positions == 77);
  CHECK(keys_of(config.position.options_read()) ==
        std::vector<std::string>{"max_positions", "bias_buckets", "bias_max_distance", "tupe_bias"});

  Json older = old;
  older["position"] = {{"encoding", "rope"}, {"max_positions", 40}};
  const Json completed = with_defaults(older);
  CHECK(completed["position"]["max_positions"] == 40);
  CHECK(completed["position"]["shaw_clip"] == 16);
}

TEST_CASE("copies of a config are independent, and assignment keeps the addresses of the options") {
  PositionConfig one, other("rope");
  RopeOptions& options = one.get<RopeOptions>();
  other.get<RopeOptions>().base = 500;
  one = other;
  CHECK(options.base == 500);
  CHECK(&one.get<RopeOptions>() == &options);
  options.base = 7;
  CHECK(other.get<RopeOptions>().base == 500);
  const PositionConfig copy = one;
  options.base = 8;
  CHECK(copy.get<RopeOptions>().base == 7);
}

TEST_CASE("an unknown encoding is an error that names the known ones") {
  PositionConfig config("ropes");
  CHECK(contains(error_of([&] { config.options_read(); }), "[position] expected one of none, sinusoidal"));
}

}  // namespace gyre
