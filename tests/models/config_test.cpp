#include "models/config.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/models/tiny_model.h"

namespace gyre {

static std::string error_of(const std::function<void(EncoderDecoderConfig&)>& change) {
  EncoderDecoderConfig config = tests::tiny_config();
  change(config);
  try {
    config.validate();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("config: errors name the field, what it must be and what it is") {
  using Config = EncoderDecoderConfig;
  CHECK(error_of([](Config&) {}) == "");
  CHECK(error_of([](Config& c) { c.vocab_size = 0; }) == "[vocab_size] must be at least 1, got 0");
  CHECK(error_of([](Config& c) { c.heads = 3; }) == "[heads] must divide dim = 8, got 3");
  CHECK(error_of([](Config& c) { c.dropout = 1; }) == "[dropout] must be at least 0 and below 1, got 1");
  CHECK(error_of([](Config& c) { c.layer_norm_epsilon = 0; }) == "[layer_norm_epsilon] must be positive, got 0");
  CHECK(error_of([](Config& c) { c.position.rotary_dims = 3; }) == "[rope] rotary dims must be even, got 3");
  CHECK(error_of([](Config& c) { c.position.rotary_dims = 6; }) ==
        "[rope] rotary dims must be between 2 and the width of a head, 4, got 6");
  CHECK(error_of([](Config& c) { c.dim = 6; }) == "[rope] rotary dims must be even, got 3");
  CHECK(error_of([](Config& c) { c.position.encoding = "ropes"; }) ==
        "[position] expected one of rope, sinusoidal, learned, none, shaw, xl, t5, tupe, deberta, alibi, wavelet, got "
        "\"ropes\"");
  CHECK(error_of([](Config& c) {
          c.position.encoding = "learned";
          c.position.max_positions = 0;
        }) == "[learned] max_positions must be at least 1, got 0");
}

TEST_CASE("config: sizes are bounded and numbers finite, in options and in a file alike") {
  using Config = EncoderDecoderConfig;
  const int64_t huge = std::numeric_limits<int64_t>::max();
  CHECK(error_of([](Config& c) { c.ffn = 10'000'000; }) == "");
  CHECK(error_of([](Config& c) { c.ffn = 10'000'001; }) == "[ffn] must be at most 10000000, got 10000001");
  CHECK(error_of([&](Config& c) { c.vocab_size = huge; }) ==
        "[vocab_size] must be at most 10000000, got 9223372036854775807");
  CHECK(error_of([&](Config& c) { c.dim = huge; }) == "[dim] must be at most 10000000, got 9223372036854775807");
  CHECK(error_of([&](Config& c) { c.position.max_positions = huge; }) ==
        "[max_positions] must be at most 10000000, got 9223372036854775807");
  CHECK(error_of([](Config& c) { c.decoder_layers = 1001; }) == "[decoder_layers] must be at most 1000, got 1001");
  CHECK(error_of([](Config& c) { c.layer_norm_epsilon = HUGE_VAL; }) ==
        "[layer_norm_epsilon] must be a finite number, got inf");
  CHECK(error_of([](Config& c) { c.position.rope_base = HUGE_VAL; }) == "[rope_base] must be a finite number, got inf");
  nlohmann::ordered_json json = tests::tiny_config().to_json();
  json["ffn"] = huge;
  CHECK_THROWS_WITH_AS(EncoderDecoderConfig::from_json(json), "[ffn] must be at most 10000000, got 9223372036854775807",
                       Error);
}

TEST_CASE("config: JSON and back") {
  EncoderDecoderConfig config = tests::tiny_config("sinusoidal", NormPlacement::post);
  config.activation = Activation::gelu;
  config.tied_output = false;
  config.dropout = 0.25;
  config.position.sinusoid_layout = SinusoidLayout::interleaved;
  config.position.rope_pairs = RotaryPairs::half_split;
  const nlohmann::ordered_json json = config.to_json();
  CHECK(json["activation"] == "gelu");
  CHECK(json["norm"] == "post");
  CHECK(json["position"]["sinusoid_layout"] == "interleaved");
  const EncoderDecoderConfig read = EncoderDecoderConfig::from_json(nlohmann::ordered_json::parse(json.dump()));
  CHECK(read.to_json() == json);
  CHECK(read.tied_output == false);
  CHECK(read.position.rope_pairs == RotaryPairs::half_split);
}

TEST_CASE("config: JSON has every field of the position encoding, and lacks none that it must have") {
  EncoderDecoderConfig config = tests::tiny_config("wavelet");
  const nlohmann::ordered_json defaults = tests::tiny_config().to_json()["position"];
  config.position = {.encoding = "wavelet",
                     .max_positions = 41,
                     .sinusoid_layout = SinusoidLayout::interleaved,
                     .rope_base = 500,
                     .rope_pairs = RotaryPairs::half_split,
                     .rotary_dims = 2,
                     .rope_learnable = true,
                     .rope_rotate_cross = true,
                     .rope_step = 0.3,
                     .rope_scaling = RopeScaling::yarn,
                     .rope_scaling_factor = 4,
                     .rope_original_length = 64,
                     .shaw_clip = 7,
                     .shaw_values = false,
                     .bias_buckets = 16,
                     .bias_max_distance = 99,
                     .tupe_bias = false,
                     .deberta_clip = 5,
                     .wavelet = Wavelet::haar,
                     .wavelet_scales = {0.1, std::exp2(127.0)},
                     .wavelet_shifts = {-2, 0.25},
                     .wavelet_time = WaveletTime::query_minus_key};
  const nlohmann::ordered_json json = config.to_json();
  for (const auto& [key, value] : json["position"].items()) {
    CAPTURE(key);
    CHECK(value != defaults.at(key));
  }
  const EncoderDecoderConfig read = EncoderDecoderConfig::from_json(nlohmann::ordered_json::parse(json.dump()));
  CHECK(read.to_json() == json);
  CHECK(read.position.wavelet_scales == config.position.wavelet_scales);

  nlohmann::ordered_json older = json;
  older["position"] = {{"encoding", "rope"}, {"max_positions", 40}};
  const EncoderDecoderConfig from_older = EncoderDecoderConfig::from_json(older);
  CHECK(from_older.position.max_positions == 40);
  CHECK(from_older.position.shaw_clip == PositionConfig().shaw_clip);
}

TEST_CASE("config: JSON says which kind of model it is of") {
  CHECK(tests::tiny_config().to_json()["model"] == "encoder-decoder");
  CHECK_THROWS_WITH_AS(EncoderOnlyConfig::from_json(tests::tiny_config().to_json()),
                       "[config] expected a model of kind encoder-only, got encoder-decoder", Error);
}

TEST_CASE("config: JSON with an unknown key, a wrong type or a wrong name is refused") {
  const nlohmann::ordered_json good = tests::tiny_config().to_json();
  const auto error_with = [&](const char* pointer, const nlohmann::ordered_json& value) -> std::string {
    nlohmann::ordered_json json = good;
    json[nlohmann::ordered_json::json_pointer(pointer)] = value;
    try {
      EncoderDecoderConfig::from_json(json);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_with("/dim", 8) == "");
  CHECK(error_with("/dims", 8) == "[config] unknown key \"dims\"");
  CHECK(error_with("/position/base", 8) == "[config.position] unknown key \"base\"");
  CHECK(error_with("/dim", "8") == "[config.dim] expected an integer, got \"8\"");
  CHECK(error_with("/dim", 8.5) == "[config.dim] expected an integer, got 8.5");
  CHECK(error_with("/dropout", true) == "[config.dropout] expected a number, got true");
  CHECK(error_with("/norm", "mid") == "[config.norm] expected one of pre, post, got \"mid\"");
  CHECK(error_with("/position/wavelet_scales", 2) ==
        "[config.position.wavelet_scales] expected a list of numbers, got 2");
  CHECK(error_with("/position/wavelet_scales", {1, "2"}) ==
        "[config.position.wavelet_scales] expected a number, got \"2\"");
  CHECK(error_with("/position", 1) == "[config.position] expected a JSON object, got 1");
  CHECK(error_with("/heads", 5) == "[heads] must divide dim = 8, got 5");
}

TEST_CASE("config: presets") {
  EncoderDecoderConfig big = EncoderDecoderConfig::preset("transformer-big");
  CHECK(big.dim == 1024);
  CHECK(big.heads == 16);
  CHECK(big.dropout == 0.3);
  for (const std::string& name : EncoderDecoderConfig::preset_names()) {
    EncoderDecoderConfig config = EncoderDecoderConfig::preset(name);
    config.vocab_size = 100;
    CHECK_NOTHROW(config.validate());
  }
  CHECK_THROWS_WITH_AS(EncoderDecoderConfig::preset("transformer-huge"),
                       "[preset] expected one of transformer-tiny, transformer-base, transformer-big, got "
                       "\"transformer-huge\"",
                       Error);
}

TEST_CASE("config: transformer-base has the published number of parameters") {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-base");
  config.vocab_size = 37000;
  const EncoderDecoder model(config);
  // Vaswani et al. 2017, table 3: 65 million. By hand: table 37000 d, encoder layer 4 (d^2 + d) + 2 d ffn + ffn + d + 4
  // d, decoder layer 8 (d^2 + d) + 2 d ffn + ffn + d + 6 d.
  const int64_t d = 512, ffn = 2048, table = 37000 * d, feed_forward = 2 * d * ffn + ffn + d;
  CHECK(model.parameters().elements() ==
        table + 6 * (4 * (d * d + d) + feed_forward + 4 * d) + 6 * (8 * (d * d + d) + feed_forward + 6 * d));
}

}  // namespace gyre
