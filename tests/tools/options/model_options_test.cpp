// Messages about the configuration of a model name the keys of config.json, and on the command line the options too.
#include "tools/options/model_options.h"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "tests/errors.h"

using namespace gyre;

namespace {

// The message for a call of gyre train lm with these words.
std::string error_with(std::vector<std::string> words) {
  CLI::App app;
  OptionTable table(app);
  EncoderArgs args("llama-tiny");
  add_encoder_options(table, args, "--preset", EncoderOnlyConfig::preset_names());
  std::reverse(words.begin(), words.end());
  app.parse(words);
  table.resolve();
  return error_of([&] { check_encoder_options(table, args.config); });
}

TEST_CASE("an invalid model of the command line: the message names the options behind the keys") {
  struct Case {
    std::vector<std::string> words;
    const char* end;  // end of the message
  };
  const Case cases[] = {
      {{"--transformer-heads", "3", "--dim-emb", "16"},
       "[heads] must divide dim = 16, got 3; see --transformer-heads, --dim-emb"},
      {{"--kv-heads", "3", "--transformer-heads", "4"}, "got 3; see --kv-heads, --transformer-heads"},
      {{"--head-dim", "-2"}, "got -2; see --head-dim"},
      {{"--layers", "0"}, "got 0; see --layers"},
      {{"--dim-emb", "0"}, "got 0; see --dim-emb"},
      {{"--transformer-dim-ffn", "0"}, "got 0; see --transformer-dim-ffn"},
      {{"--transformer-dropout", "1"}, "got 1; see --transformer-dropout"},
      {{"--dropout", "1"}, "got 1; see --transformer-dropout"},
      {{"--attention-dropout", "1"}, "got 1; see --transformer-dropout-attention"},
      {{"--activation-dropout", "1"}, "got 1; see --transformer-dropout-ffn"},
      {{"--token-types", "-1"}, "got -1; see --token-types"},
      {{"--attention", "window", "--attention-window", "0"}, "got 0; see --attention, --attention-window"},
      {{"--norm", "post", "--residual-form", "parallel"}, "got post; see --residual-form"},
      {{"--dim-emb", "12", "--transformer-heads", "4"},
       "[rope] rotary dims must be even, got 3; see --position, --rotary-dims, --dim-emb, --transformer-heads"},
      {{"--dim-emb", "32", "--transformer-heads", "4", "--rotary-dims", "64"},
       "got 64; see --position, --rotary-dims, --dim-emb, --transformer-heads"},
      {{"--rope-base", "0"}, "got 0; see --position, --rope-base"},
      {{"--rope-scaling", "yarn", "--rope-original-length", "0"}, "got 0; see --position, --rope-original-length"},
      {{"--rope-scaling", "linear", "--rope-scaling-factor", "0"},
       "got 0; see --position, --rope-scaling, --rope-scaling-factor, --rope-low-freq-factor, --rope-high-freq-factor"},
      {{"--position", "wavelet", "--wavelet-scales", "0", "--dim-emb", "4", "--transformer-heads", "4"},
       "[wavelet] scales must be positive, got 0; see --position, --wavelet-scales"},
      {{"--position", "wavelet", "--wavelet-scales", "1,2,3", "--dim-emb", "32", "--transformer-heads", "4"},
       "3 scales x 2 shifts; see --position, --wavelet-scales, --wavelet-shifts, --dim-emb, --transformer-heads"},
      {{"--position", "shaw", "--shaw-clip", "0"}, "got 0; see --position, --shaw-clip"},
      {{"--position", "nezha", "--dim-emb", "12", "--transformer-heads", "4"},
       "got 3; see --position, --dim-emb, --transformer-heads"},
      {{"--position", "t5", "--bias-buckets", "5"}, "got 5; see --position, --bias-buckets"},
      {{"--position", "learned", "--max-positions", "0"}, "got 0; see --position, --max-positions"},
      {{"--attention", "linear", "--position", "shaw"}, "see --attention, --position"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.end);
    const std::string error = error_with(c.words);
    CAPTURE(error);
    CHECK(error.ends_with(c.end));
  }
}

TEST_CASE("an invalid encoder-decoder of the command line: the message names its own options") {
  const auto error = [](std::vector<std::string> reversed) {
    CLI::App app;
    OptionTable table(app);
    ModelArgs args;
    add_model_options(table, args);
    app.parse(reversed);
    table.resolve();
    return error_of([&] { check_model_options(table, args.config); });
  };
  CHECK(error({"0", "--dec-depth"}) == "[decoder_layers] must be at least 1, got 0; see --dec-depth");
  CHECK(error({"window", "--attention"}).ends_with("encoders and decoders have the other kinds; see --attention"));
}

}  // namespace
