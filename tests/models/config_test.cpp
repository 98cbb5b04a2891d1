#include "gyre/models/config/config.h"

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"
#include "tests/errors.h"
#include "tests/models/position_config.h"
#include "tests/models/tiny_model.h"

namespace gyre {

static std::string error_after(const std::function<void(EncoderDecoderConfig&)>& change) {
  EncoderDecoderConfig config = test::tiny_config();
  change(config);
  return test::validation_error(config);
}

TEST_CASE("config: errors give the field, the expectation and the actual value") {
  using Config = EncoderDecoderConfig;
  CHECK(error_after([](Config&) {}) == "no error");
  CHECK(error_after([](Config& c) { c.vocab_size = 0; }) == "[vocab_size] must be at least 1, got 0");
  CHECK(error_after([](Config& c) { c.heads = 3; }) == "[heads] must divide dim = 8, got 3");
  CHECK(error_after([](Config& c) { c.dropout = 1; }) == "[dropout] must be at least 0 and below 1, got 1");
  CHECK(error_after([](Config& c) { c.layer_norm_epsilon = 0; }) == "[layer_norm_epsilon] must be positive, got 0");
  CHECK(error_after([](Config& c) { c.position.get<RopeOptions>().rotary_dims = 3; }) ==
        "[rope] rotary dims must be even, got 3");
  CHECK(error_after([](Config& c) { c.position.get<RopeOptions>().rotary_dims = 6; }) ==
        "[rope] rotary dims must be between 2 and the width of a head, 4, got 6");
  CHECK(error_after([](Config& c) { c.dim = 6; }) == "[rope] rotary dims must be even, got 3");
  CHECK(error_after([](Config& c) { c.position.encoding = "ropes"; }) ==
        "[position] expected one of none, sinusoidal, learned, rope, shaw, nezha, xl, t5, tupe, deberta, alibi, "
        "wavelet, got \"ropes\"");
  CHECK(error_after([](Config& c) {
          c.position.encoding = "learned";
          c.position.get<PositionTableOptions>().max_positions = 0;
        }) == "[learned] max_positions must be at least 1, got 0");
}

TEST_CASE("config: options and files must have bounded sizes and finite numbers") {
  using Config = EncoderDecoderConfig;
  const int64_t huge = std::numeric_limits<int64_t>::max();
  CHECK(error_after([](Config& c) { c.ffn = 10'000'000; }) == "no error");
  CHECK(error_after([](Config& c) { c.ffn = 10'000'001; }) == "[ffn] must be at most 10000000, got 10000001");
  CHECK(error_after([&](Config& c) { c.vocab_size = huge; }) ==
        "[vocab_size] must be at most 10000000, got 9223372036854775807");
  CHECK(error_after([&](Config& c) { c.dim = huge; }) == "[dim] must be at most 10000000, got 9223372036854775807");
  CHECK(error_after([&](Config& c) { c.position.get<PositionTableOptions>().max_positions = huge; }) ==
        "[max_positions] must be at most 10000000, got 9223372036854775807");
  CHECK(error_after([](Config& c) { c.decoder_layers = 1001; }) == "[decoder_layers] must be at most 1000, got 1001");
  CHECK(error_after([](Config& c) { c.layer_norm_epsilon = HUGE_VAL; }) ==
        "[layer_norm_epsilon] must be a finite number, got inf");
  CHECK(error_after([](Config& c) { c.position.get<RopeOptions>().base = HUGE_VAL; }) ==
        "[rope_base] must be a finite number, got inf");
  Json json = test::tiny_config().to_json();
  json["ffn"] = huge;
  CHECK_THROWS_WITH_AS(EncoderDecoderConfig::from_json(json), "[ffn] must be at most 10000000, got 9223372036854775807",
                       Error);
}

TEST_CASE("config: JSON round trip") {
  EncoderDecoderConfig config = test::tiny_config("sinusoidal", NormPlacement::post);
  config.activation = Activation::gelu;
  config.tied_output = false;
  config.dropout = 0.25;
  test::set_options(config.position, {{"sinusoid_layout", "interleaved"}});
  config.position.get<RopeOptions>().pairs = RotaryPairs::half_split;
  const Json json = config.to_json();
  CHECK(json["activation"] == "gelu");
  CHECK(json["norm"] == "post");
  CHECK(json["position"]["sinusoid_layout"] == "interleaved");
  const EncoderDecoderConfig read = EncoderDecoderConfig::from_json(Json::parse(json.dump()));
  CHECK(read.to_json() == json);
  CHECK(read.tied_output == false);
  CHECK(read.position.get<RopeOptions>().pairs == RotaryPairs::half_split);
}

TEST_CASE("config: JSON names the kind of model") {
  CHECK(test::tiny_config().to_json()["model"] == "encoder-decoder");
  CHECK_THROWS_WITH_AS(EncoderOnlyConfig::from_json(test::tiny_config().to_json()),
                       "[config] expected a model of kind encoder-only or decoder, got encoder-decoder", Error);
}

TEST_CASE("config: JSON with an unknown key, a wrong type or a wrong name throws") {
  const Json good = test::tiny_config().to_json();
  const auto error_with = [&](const char* pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    return error_of([&] { EncoderDecoderConfig::from_json(json); });
  };
  CHECK(error_with("/dim", 8) == "no error");
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
