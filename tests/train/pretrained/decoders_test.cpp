// Import and export of causal models in the format of Hugging Face transformers.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/sentencepiece/sentencepiece_vocabulary.h"
#include "gyre/models/decode/generate.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/models/position/rope.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/fine_tuning.h"
#include "tests/train/pretrained/hugging_face_copy.h"
#include "tests/train/pretrained/hugging_face_logits.h"

using namespace gyre;

namespace {

constexpr const char* kDecoders[] = {
    "llama",    "llama-tied",          "llama-linear",  "llama3", "mistral",     "qwen2",    "qwen3",
    "gpt-neox", "gpt-neox-sequential", "gpt-neox-tied", "gpt2",   "gpt2-narrow", "gpt2-relu"};

const EncoderOnly& model_of(const HuggingFaceModel& read) {
  return *std::get<std::unique_ptr<EncoderOnly>>(read.model);
}

// The largest difference from the logits of transformers, as a share of the largest logit.
double relative_distance(const HuggingFaceModel& read, const std::string& name) {
  const auto result = hugging_face_logits::distance(read, read_json(decoder_golden("logits.json")), name);
  return result.worst / result.largest;
}

std::unique_ptr<EncoderOnly> allocated(const EncoderOnlyConfig& config) {
  auto model = std::make_unique<EncoderOnly>(config);
  model->parameters().allocate(7);
  return model;
}

EncoderOnlyConfig small(const std::string& preset) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset(preset);
  config.vocab_size = 19;
  config.dim = 24;
  config.heads = 6;
  config.kv_heads = config.kv_heads > 0 ? 2 : 0;
  config.ffn = 20;
  config.layers = 2;
  return config;
}

}  // namespace

TEST_CASE("decoders: the logits equal those of transformers") {
  for (const char* name : kDecoders) {
    CAPTURE(name);
    const HuggingFaceModel read = read_hugging_face(decoder_golden(name));
    CHECK(relative_distance(read, name) < 1e-5);
    CHECK(model_of(read).config().causal);
    CHECK(read.notes ==
          std::vector<std::string>{"no tokenizer.json, vocab.json with merges.txt, tokenizer.model or vocab.txt in " +
                                   decoder_golden(name).string() + ": the model has no vocabulary"});
  }
}

TEST_CASE("decoders: an exported model has the tensors and the configuration of the imported one") {
  for (const char* name : kDecoders) {
    CAPTURE(name);
    const TemporaryDirectory directory;
    const HuggingFaceModel read = read_hugging_face(decoder_golden(name));
    write_hugging_face(directory / "out", model_of(read), nullptr);
    check_same_tensors(directory / "out", decoder_golden(name));
    const Json config = read_json(decoder_golden(name) / "config.json");
    const Json written = read_json(directory / "out/config.json");
    for (const auto& [key, value] : written.items()) {
      CAPTURE(key);
      const bool of_vocabulary = key == "bos_token_id" || key == "eos_token_id";
      if (config.contains(key) && !config[key].is_null())
        CHECK(nlohmann::json(value) == nlohmann::json(of_vocabulary ? Json() : config[key]));  // in any order
    }
    // Keys that change nothing here: defaults, and those that an export replaces.
    const std::set<std::string> absent{"classifier_dropout",
                                       "layer_types",
                                       "max_window_layers",
                                       "pretraining_tp",
                                       "reorder_and_upcast_attn",
                                       "rope_scaling",
                                       "sliding_window",
                                       "summary_activation",
                                       "summary_first_dropout",
                                       "summary_proj_to_labels",
                                       "summary_type",
                                       "summary_use_proj",
                                       "transformers_version",
                                       "use_cache",
                                       "partial_rotary_factor"};
    for (const auto& [key, value] : config.items()) {
      CAPTURE(key);
      CHECK((written.contains(key) || absent.contains(key)));
    }
    const HuggingFaceModel again = read_hugging_face(directory / "out");
    CHECK(weights(again) == weights(read));
    CHECK(model_of(again).config().to_json() == model_of(read).config().to_json());
  }
}

TEST_CASE("decoders: bare models, left-overs of older files, and rope_parameters without a type") {
  struct Bare {
    const char *golden, *prefix, *architecture;
  };
  for (const Bare& bare : {Bare{"llama", "model.", "LlamaModel"}, Bare{"llama-tied", "model.", "LlamaModel"},
                           Bare{"gpt-neox", "gpt_neox.", "GPTNeoXModel"}, Bare{"gpt2", "transformer.", "GPT2Model"}}) {
    CAPTURE(bare.golden);
    const HuggingFaceModel whole = read_hugging_face(decoder_golden(bare.golden));
    const HuggingFaceCopy copy(bare.golden, decoder_golden);
    copy.set("architectures", {bare.architecture});
    const Json parameters{{"rope_theta", 10000.0}};
    if (!read_json(copy / "config.json").contains("rope_parameters") && std::string(bare.golden) != "gpt2")
      copy.set("rope_parameters", parameters);
    copy.change([&](std::vector<NamedTensor>& tensors) {
      std::erase_if(tensors, [](const auto& t) { return t.name == "lm_head.weight" || t.name == "embed_out.weight"; });
      for (NamedTensor& t : tensors) t.name.erase(0, std::string(bare.prefix).size());
      for (const char* name : {"layers.0.self_attn.rotary_emb.inv_freq", "rotary_emb.inv_freq", "position_ids"})
        tensors.push_back({name, Tensor::zeros({4})});
    });
    const HuggingFaceModel read = read_hugging_face(copy.path());
    CHECK(read.tensors.repeats.size() == 3);
    const bool is_tied = model_of(read).config().tied_output;
    CHECK(read.tensors.initialized ==
          (is_tied ? std::vector<std::string>{} : std::vector<std::string>{"lm_head.weight"}));
    for (const Parameter& p : read.parameters()) {
      if (p.name == "lm_head.weight") continue;
      CAPTURE(p.name);
      CHECK(p.value.to_vector<float>() == whole.parameters().find(p.name)->value.to_vector<float>());
    }
  }
}

TEST_CASE("decoders: interleaved pairs of features are written in halves") {
  for (const char* preset : {"llama-tiny", "neox-160m"}) {
    CAPTURE(preset);
    const TemporaryDirectory directory;
    EncoderOnlyConfig config = small(preset);
    auto& rope = config.position.get<RopeOptions>();
    rope.pairs = RotaryPairs::interleaved;
    rope.rotary_dims = config.norm_type == NormType::layer ? 2 : 0;
    config.qk_norm = config.norm_type == NormType::rms;
    const auto model = allocated(config);
    for (Parameter& p : model->parameters()) {
      if (p.shape.rank() == 1)  // norms and biases, whose order matters too
        for (float& x : p.value.span<float>()) x += 0.01F * float(&x - p.value.data<float>());
    }
    write_hugging_face(directory / "out", *model, nullptr);
    const HuggingFaceModel read = read_hugging_face(directory / "out");
    const auto logits = [](const EncoderOnly& m) {
      Tape tape(cpu_kernels(), {.record = false});
      return hugging_face_logits::logits_of(m, tape, hugging_face_logits::flat(std::vector<int32_t>{4, 7, 3, 9, 2, 11}),
                                            {});
    };
    const auto expected = logits(*model), got = logits(model_of(read));
    for (size_t i = 0; i < expected.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-4));
  }
}

TEST_CASE("decoders: names and layouts of other files") {
  SUBCASE("GPT-2 without a prefix, with masks and the repeated table") {
    const HuggingFaceCopy copy("gpt2", decoder_golden);
    copy.change([](std::vector<NamedTensor>& tensors) {
      for (NamedTensor& t : tensors) t.name = t.name.substr(std::string("transformer.").size());
      tensors.push_back({"h.0.attn.bias", Tensor::zeros({1, 1, 40, 40})});
      tensors.push_back({"lm_head.weight", tensor_named(tensors, "wte.weight").clone()});
    });
    const HuggingFaceModel read = read_hugging_face(copy.path());
    CHECK(weights(read) == weights(read_hugging_face(decoder_golden("gpt2"))));
    CHECK(std::set<std::string>(read.tensors.repeats.begin(), read.tensors.repeats.end()) ==
          std::set<std::string>{"h.0.attn.bias", "lm_head.weight"});
  }
  SUBCASE("an output projection that is not the table") {
    const HuggingFaceCopy copy("gpt2", decoder_golden);
    copy.change([](std::vector<NamedTensor>& tensors) {
      tensors.push_back({"lm_head.weight", Tensor::zeros({19, 24})});
    });
    CHECK(copy.error().find("tensor lm_head.weight: expected the same as the embeddings") != std::string::npos);
  }
  SUBCASE("rope_parameters of later versions") {
    const HuggingFaceCopy copy("llama", decoder_golden);
    copy.set("rope_theta", nullptr);
    copy.set("rope_parameters", {{"rope_type", "default"}, {"rope_theta", 500000.0}});
    CHECK(relative_distance(read_hugging_face(copy.path()), "llama") < 1e-5);
  }
}

TEST_CASE_FIXTURE(InDirectory, "decoders: byte-level BPE is exported and imported") {
  EncoderOnlyConfig config = small("gpt2-small");
  config.vocab_size = 405;  // more than there are pieces
  const auto model = allocated(config);
  const Path golden = source_dir() / "tests/data/golden/byte_bpe/gpt2.json";
  const auto vocabulary = load_vocabulary(golden);
  write_hugging_face(directory / "out", *model, vocabulary.get());
  CHECK(read_file(directory / "out/tokenizer.json") == read_file(golden));
  CHECK(read_json(directory / "out/tokenizer_config.json")["eos_token"] == "<|endoftext|>");
  CHECK(read_json(directory / "out/config.json")["eos_token_id"] == vocabulary->eos());
  const HuggingFaceModel read = read_hugging_face(directory / "out");
  REQUIRE(read.vocabulary != nullptr);
  CHECK(read.vocabulary->size() == 405);
  write_imported_run(read, directory / "out", directory / "run", false);
  const auto imported = load_run_vocabulary(directory / "run", {}, 405);
  CHECK(imported->encode("the \u4e2d") == vocabulary->encode("the \u4e2d"));
  CHECK(imported->eos() == vocabulary->eos());
  write_file(directory / "out/tokenizer.json", R"({"model":{"type":"Unigram"}})");
  const HuggingFaceModel other = read_hugging_face(directory / "out");
  CHECK(other.vocabulary == nullptr);
  REQUIRE(other.notes.size() == 1);
  CHECK(other.notes[0].find("model.type: expected BPE, WordPiece or WordLevel, got \"Unigram\"") != std::string::npos);
}

TEST_CASE_FIXTURE(InDirectory, "decoders: the settings of a tokenizer survive import and export") {
  EncoderOnlyConfig config = small("gpt2-small");
  config.vocab_size = 405;
  const auto model = allocated(config);
  write_hugging_face(directory / "in", *model, nullptr);
  Json tokenizer = read_json(source_dir() / "tests/data/golden/byte_bpe/gpt2.json");
  tokenizer["post_processor"] = nullptr;  // so that nothing names a BOS
  write_file(directory / "in/tokenizer.json", tokenizer.dump());
  const std::string settings =
      R"({"bos_token":null,"chat_template":"{{ messages }}","eos_token":"<|endoftext|>","model_max_length":77,)"
      R"("pad_token":"!","tokenizer_class":"PreTrainedTokenizerFast"})";
  write_file(directory / "in/tokenizer_config.json", settings);
  const HuggingFaceModel read = read_hugging_face(directory / "in");
  REQUIRE(read.vocabulary != nullptr);
  write_imported_run(read, directory / "in", directory / "run", false);
  const auto imported = load_run_vocabulary(directory / "run", {}, 405);
  CHECK(imported->piece(imported->pad()) == "!");
  CHECK(imported->fingerprint() == read.vocabulary->fingerprint());
  write_hugging_face(directory / "out", *model, imported.get());
  CHECK(Json::parse(read_file(directory / "out/tokenizer_config.json")) == Json::parse(settings));
  CHECK(read_file(directory / "out/tokenizer.json") == read_file(directory / "in/tokenizer.json"));
  CHECK(read_json(directory / "out/config.json")["bos_token_id"].is_null());
  CHECK(!read_json(directory / "out/generation_config.json").contains("bos_token_id"));
}

TEST_CASE_FIXTURE(InDirectory, "decoders: SentencePiece is exported as tokenizer.model, and imported") {
  write_file(directory / "text", "the cat sat on the mat\nthe dog sat on the log\n");
  train_sentencepiece(std::vector<Path>{directory / "text"}, {.type = "bpe", .size = 30}, directory / "vocab.model");
  const auto vocabulary = load_vocabulary(directory / "vocab.model");
  EncoderOnlyConfig config = small("gpt2-small");
  config.vocab_size = vocabulary->size() + 2;  // more than there are pieces
  const auto model = allocated(config);
  write_hugging_face(directory / "out", *model, vocabulary.get());
  CHECK(read_file(directory / "out/tokenizer.model") == read_file(directory / "vocab.model"));
  CHECK(read_json(directory / "out/tokenizer_config.json")["add_bos_token"] == true);
  const HuggingFaceModel read = read_hugging_face(directory / "out");
  REQUIRE(read.vocabulary != nullptr);
  write_imported_run(read, directory / "out", directory / "run", false);
  const auto imported = load_run_vocabulary(directory / "run", {}, config.vocab_size);
  CHECK(imported->encode("the cat") == vocabulary->encode("the cat"));
  CHECK(imported->fingerprint() == vocabulary->fingerprint());
  CHECK(imported->piece(imported->size() - 1).empty());
  write_file(directory / "out/tokenizer.json", R"({"model":{"type":"Unigram"}})");
  CHECK(read_hugging_face(directory / "out").notes[0].find("tokenizer.model is read instead") == 0);
}

TEST_CASE("decoders: unsupported configurations are errors") {
  check_config_errors(
      decoder_golden,
      {{"llama", "attention_bias", true, "attention_bias: expected false, the only supported value, got true"},
       {"llama", "head_dim", 5,
        "[rope] rotary dims must be even, got 5; see head_dim, num_attention_heads, hidden_size"},
       {"llama", "head_dim", 6, "wrong shape: model.layers.0.self_attn.q_proj.weight expected (36, 24)"},
       {"llama", "num_key_value_heads", 4,
        "[kv_heads] must divide heads = 6, got 4; see num_key_value_heads, num_attention_heads"},
       {"llama", "partial_rotary_factor", 0.5, "partial_rotary_factor: expected 1, the only supported value, got 0.5"},
       {"llama", "max_position_embeddings", 0, "max_position_embeddings: expected at least 1, got 0"},
       {"gpt2", "n_positions", -1, "n_positions: expected at least 1, got -1"},
       {"mistral", "layer_types", Json::array({"sliding_attention", "full_attention"}),
        "layer_types: expected \"sliding_attention\" for every layer, got [\"sliding_attention\",\"full"},
       {"qwen2", "layer_types", Json::array({"sliding_attention"}),
        "layer_types: expected \"full_attention\" for every layer"},
       {"llama", "model_type", "qwen2", "model_type: expected \"llama\""},
       {"gpt2", "activation_function", "mish",
        "[config.activation_function] expected one of relu, gelu, gelu-tanh, silu"},
       {"gpt2", "scale_attn_by_inverse_layer_idx", true, "the only supported value, got true"},
       {"gpt2", "architectures", Json::array({"GPTJForCausalLM"}), "LlamaForCausalLM"}});
}

TEST_CASE("decoders: a scaling of RoPE has a type and all of its numbers") {
  const std::pair<Json, const char*> cases[] = {
      {"linear", "rope_scaling: expected an object, got \"linear\""},
      {{{"rope_type", "linear"}}, "rope_scaling: expected a factor for the type linear, found none"},
      {{{"type", "yarn"}, {"factor", nullptr}}, "rope_scaling: expected a factor for the type yarn, found none"},
      {{{"factor", 2.0}}, "rope_scaling: expected the type default, linear, yarn or llama3, got null"},
      {{{"rope_type", "dynamic"}, {"factor", 2.0}}, "default, linear, yarn or llama3, got \"dynamic\""},
      {{{"rope_type", "llama3"}, {"factor", 8.0}, {"low_freq_factor", 1.0}},
       "rope_scaling: expected a high_freq_factor for the type llama3, found none"},
      {{{"rope_type", "yarn"}, {"factor", 2.0}, {"truncate", nullptr}},
       "rope_scaling.truncate: expected true, the only supported value, got null"}};
  for (const auto& [scaling, expected] : cases) {
    const HuggingFaceCopy copy("llama", decoder_golden);
    copy.set("rope_scaling", scaling);
    CHECK(contains(copy.error(), expected));
  }
}

// As transformers 4.57 reads them: null is false, and GPT-NeoX's own names of RoPE's options count.
TEST_CASE("decoders: null switches, and keys that two names have") {
  const auto read = [](const char* model, const std::string& key, const Json& value) {
    const HuggingFaceCopy copy(model, decoder_golden);
    copy.set(key, value);
    return model_of(read_hugging_face(copy.path())).config();
  };
  CHECK(read("gpt-neox", "use_parallel_residual", nullptr).residual_form == ResidualForm::sequential);
  CHECK(!read("llama", "tie_word_embeddings", nullptr).tied_output);
  CHECK(read("llama", "attention_bias", nullptr).biases == Biases::none);
  for (const auto& [model, key] : {std::pair("gpt-neox", "attention_bias"), std::pair("gpt2", "scale_attn_weights"),
                                   std::pair("gpt2", "tie_word_embeddings")}) {
    const HuggingFaceCopy copy(model, decoder_golden);
    copy.set(key, nullptr);
    CHECK(contains(copy.error(), concat(key, ": expected true, the only supported value, got null")));
  }
  CHECK(read("gpt-neox", "rope_theta", 77).position.get<RopeOptions>().base == 10000);
  CHECK(read("gpt-neox", "rotary_emb_base", 77).position.get<RopeOptions>().base == 77);
  CHECK(read("gpt-neox", "partial_rotary_factor", 1).position.get<RopeOptions>().rotary_dims == 2);
  CHECK(read("llama", "rope_theta", 77).position.get<RopeOptions>().base == 77);
}

TEST_CASE("decoders: weights that are not finite are errors") {
  const auto error_with = [](float value) {
    const HuggingFaceCopy copy("llama", decoder_golden);
    copy.change([&](std::vector<NamedTensor>& tensors) {
      tensor_named(tensors, "model.layers.1.mlp.up_proj.weight").data<float>()[5] = value;
    });
    return copy.error();
  };
  CHECK(contains(error_with(INFINITY),
                 "model.safetensors: tensor model.layers.1.mlp.up_proj.weight: expected finite "
                 "numbers, got inf in element 5"));
  CHECK(contains(error_with(NAN), "tensor model.layers.1.mlp.up_proj.weight: expected finite numbers, got "));
  const HuggingFaceCopy encoder("bert");
  encoder.change([&](std::vector<NamedTensor>& tensors) {
    tensor_named(tensors, "bert.embeddings.LayerNorm.weight").data<float>()[0] = NAN;
  });
  CHECK(contains(encoder.error(), "tensor bert.embeddings.LayerNorm.weight: expected finite numbers"));
}

TEST_CASE("decoders: the training length is the number of positions of a model without a table") {
  const auto positions = [](const char* preset, const char* key) {
    const TemporaryDirectory directory;
    write_hugging_face(directory / "out", *allocated(small(preset)), nullptr, {.trained_length = 48});
    return read_json(directory / "out/config.json")[key].get<int>();
  };
  CHECK(positions("llama-tiny", "max_position_embeddings") == 48);
  CHECK(positions("gpt2-small", "n_positions") == 1024);
}

TEST_CASE_FIXTURE(InDirectory, "decoders: models that transformers does not have cannot be exported") {
  const auto check_error = [&](const char* preset, const std::string& expected, auto change) {
    EncoderOnlyConfig config = small(preset);
    change(config);
    const auto model = allocated(config);
    CHECK(error_of([&] { write_hugging_face(directory / "out", *model, nullptr); }) ==
          "[hugging face] this model is not a " + expected);
  };
  check_error("llama-tiny", "LlamaForCausalLM:\n  residual_form: expected \"sequential\", got \"parallel\"",
              [](auto& c) { c.residual_form = ResidualForm::parallel; });
  check_error("gpt2-small", "GPT2LMHeadModel:\n  tied_output: expected true, got false",
              [](auto& c) { c.tied_output = false; });
  check_error("neox-160m", "GPTNeoXForCausalLM:\n  residual_form: expected \"parallel\", got \"shared-norm\"",
              [](auto& c) {
                c.position.template get<RopeOptions>().rotary_dims = 2;
                c.residual_form = ResidualForm::shared_norm;
              });
  check_error("llama-tiny", "LlamaForCausalLM:\n  rope_scaling: expected none, linear, yarn or llama3, got ntk",
              [](auto& c) { c.position.template get<RopeOptions>().scaling = RopeScaling::ntk; });
  check_error("gpt2-small", "GPT2LMHeadModel:\n  head_dim: expected 0, got 6", [](auto& c) { c.head_dim = 6; });
  check_error("llama-tiny", "LlamaForCausalLM:\n  position: expected rope, or learned for a GPT-2, got alibi",
              [](auto& c) { c.position = PositionConfig("alibi"); });
}

// ---- How imported causal models continue texts: beam search as in transformers, and generation_config.json ---------

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
