// How imported causal models continue texts: beam search as in transformers, and generation_config.json.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/models/decode/generate.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tests/train/pretrained/hugging_face_copy.h"

using namespace gyre;

TEST_CASE("decoders: beam search finds the continuations of transformers") {
  const Json golden = read_json(decoder_golden("beams.json"));
  for (const auto& [name, of_model] : golden.items()) {
    const HuggingFaceModel read = read_hugging_face(decoder_golden(name));
    const int32_t eos = of_model["eos"];
    for (const Json& search : of_model["searches"]) {
      CAPTURE(name);
      CAPTURE(search.dump());
      DecodeOptions options{.beam_size = search["num_beams"], .length_penalty = search["length_penalty"]};
      options.stop = StopRule::present_length;
      options.n_best = options.beam_size;
      options.bos = options.eos = eos;
      const std::vector<Prompt> prompts{{search["prompt"].get<std::vector<int32_t>>(), 0, search["max_new_tokens"]},
                                        {{7, 8}, 0, 3}};  // the other text of the batch changes nothing
      ContinuationRules rules{.repetition_penalty = search.value("repetition_penalty", 1.0)};
      if (search.contains("stop"))
        rules.ends = [&](size_t i, auto ids) { return i == 0 && ids.back() == search["stop"]; };
      const auto found = search_continuations(*std::get<std::unique_ptr<EncoderOnly>>(read.model), cpu_kernels(),
                                              prompts, options, rules)[0];
      REQUIRE(found.size() == search["ids"].size());
      for (size_t i = 0; i < found.size(); ++i) {
        std::vector<int32_t> ids = found[i].ids;
        if (found[i].token_log_probs.size() > ids.size()) ids.push_back(eos);
        CHECK(ids == search["ids"][i].get<std::vector<int32_t>>());
        CHECK(found[i].score == doctest::Approx(search["scores"][i].get<double>()).epsilon(1e-4));
      }
    }
  }
}

TEST_CASE("decoders: generation_config.json") {
  const auto parse = [](const char* text) { return parse_generation_config(text, "file: "); };
  const GenerationConfig all = parse(R"({"eos_token_id": [7, 2], "do_sample": true, "temperature": 0.6, "top_k": 50,
      "top_p": 0.9, "min_p": 0, "repetition_penalty": 1.1, "max_new_tokens": 20, "num_beams": 4, "pad_token_id": null})");
  CHECK(all.eos == std::vector<int32_t>{7, 2});
  CHECK(all.do_sample == true);
  CHECK(all.temperature == 0.6);
  CHECK(all.top_k == 50);
  CHECK(all.min_p == 0.0);
  CHECK(all.max_new_tokens == 20);
  const GenerationConfig one = parse(R"({"eos_token_id": 3, "temperature": null})");
  CHECK(one.eos == std::vector<int32_t>{3});
  CHECK(!one.temperature);
  CHECK(!one.do_sample);
  const auto error = [&](const char* text) { return error_of([&] { parse(text); }); };
  CHECK(error(R"({"top_k": 2.5})") == "file: top_k: expected a whole number, got 2.5");
  CHECK(error(R"({"top_k": -1})") == "file: top_k: expected a whole number, got -1");
  CHECK(error(R"({"eos_token_id": ["x"]})") == "file: eos_token_id: expected a whole number, got \"x\"");
  CHECK(error(R"({"do_sample": 1})") == "file: do_sample: expected true or false, got 1");
  CHECK(error("[]") == "file: expected an object, got []");
  CHECK(generation_config_of(1, 2, -1).dump() == R"({"_from_model_config":true,"bos_token_id":1,"eos_token_id":2})");
  CHECK(generation_config_of(1, 2, 0)["pad_token_id"] == 0);
}
