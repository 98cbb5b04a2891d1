// Import and export of translation models in the format of Hugging Face transformers (MarianMTModel).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/marian_vocabulary.h"
#include "gyre/models/decode/translate.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/sinusoidal.h"
#include "gyre/train/tasks/inputs.h"
#include "gyre/train/tasks/translation/decoding.h"
#include "tests/train/pretrained/hugging_face_copy.h"

using namespace gyre;

namespace {

constexpr const char* kMarianModels[] = {"swish", "gelu"};

using TokenIds = std::vector<int32_t>;

Path marian_golden(const std::string& name) { return source_dir() / "tests/train/golden/marian" / name; }

const EncoderDecoder& marian_of(const HuggingFaceModel& read) {
  return *std::get<std::unique_ptr<EncoderDecoder>>(read.model);
}

// The logits of a target, ids without special ones, with teacher forcing: (target tokens, vocabulary).
Tensor target_logits(const EncoderDecoder& model, const Vocabulary& vocabulary, const TokenIds& source,
                     const TokenIds& target) {
  PairPacker packer(vocabulary.bos(), vocabulary.eos());
  packer.add(source, target);
  const PairInput pair = pair_input(packer.finish());
  Tape tape(cpu_kernels(), {.record = false});
  return model
      .logits(model.decode(tape, model.encode(tape, pair.source_ids, pair.source), pair.source, pair.target_inputs,
                           pair.target))
      .value();
}

TokenIds ids_without_end(TokenIds ids) {
  ids.pop_back();
  return ids;
}

// A model of Gyre with the vocabulary of a golden one.
std::unique_ptr<EncoderDecoder> own_translation_model(const Vocabulary& vocabulary, SinusoidLayout layout) {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
  config.vocab_size = vocabulary.size();
  config.dim = 16;
  config.heads = 2;
  config.ffn = 20;
  config.encoder_layers = 1;
  config.decoder_layers = 2;
  config.norm = NormPlacement::post;
  config.position = PositionConfig("sinusoidal");
  config.position.get<PositionTableOptions>().max_positions = 30;
  config.position.get<SinusoidalOptions>().layout = layout;
  auto model = std::make_unique<EncoderDecoder>(config);
  model->parameters().allocate(3);
  return model;
}

}  // namespace

TEST_CASE("marian: ids, logits and translations equal those of transformers") {
  const Json golden = read_json(marian_golden("golden.json"));
  for (const char* name : kMarianModels) {
    CAPTURE(name);
    const Json& expected = golden["models"][name];
    const HuggingFaceModel read = read_hugging_face(marian_golden(name));
    CHECK(read.notes.empty());
    REQUIRE(read.vocabulary);
    for (size_t i = 0; i < golden["sources"].size(); ++i) {
      CAPTURE(i);
      const TokenIds source = read.vocabulary->side(0).encode(golden["sources"][i].get<std::string>());
      const TokenIds target = read.vocabulary->side(1).encode(golden["targets"][i].get<std::string>());
      CHECK(source == ids_without_end(expected["source_ids"][i]));
      CHECK(target == ids_without_end(expected["target_ids"][i]));
      const Tensor logits = target_logits(marian_of(read), *read.vocabulary, source, target);
      REQUIRE(logits.dim(0) == int64_t(expected["logits"][i].size()));
      double worst = 0;
      for (int64_t row = 0; row < logits.dim(0); ++row) {
        const auto theirs = expected["logits"][i][size_t(row)].get<std::vector<double>>();
        const auto ours = logits.slice(row, row + 1).to_vector<float>();
        REQUIRE(ours.size() == theirs.size());
        for (size_t j = 0; j < ours.size(); ++j) worst = std::max(worst, std::abs(double(ours[j]) - theirs[j]));
      }
      CHECK(worst < 1e-5);
      for (size_t s = 0; s < golden["searches"].size(); ++s) {
        const Json& search = golden["searches"][s];
        const Json& found = expected["translations"][i][s];
        DecodeOptions options{
            .beam_size = search["num_beams"],
            .length_penalty = search.value("length_penalty", 0.0),
            .stop = search.value("early_stopping", true) ? StopRule::beam_finished : StopRule::present_length,
            .max_length_factor = 0,
            .max_length_extra = 36};
        set_vocabulary(options, *read.vocabulary, /*allow_unknown=*/true);
        TokenIds ids = source;
        ids.push_back(options.eos);
        const TokenIds translation = translate(marian_of(read), cpu_kernels(), {ids}, options).front().front().ids;
        CHECK(translation == found["ids"].get<TokenIds>());
        const bool has_unknown = std::ranges::count(translation, read.vocabulary->unk()) > 0;
        if (!has_unknown) CHECK(read.vocabulary->side(1).decode(translation) == found["text"].get<std::string>());
      }
    }
  }
}

TEST_CASE("marian: an imported model is a run, and its export equals what was imported") {
  for (const char* name : kMarianModels) {
    CAPTURE(name);
    const TemporaryDirectory directory;
    const HuggingFaceModel read = read_hugging_face(marian_golden(name));
    write_imported_run(read, marian_golden(name), directory / "run", false);
    const auto trained = load_trained_model<EncoderDecoder>(directory / "run", "", {}, Device{});
    CHECK(trained.model->parameters().values().to_vector<float>() == weights(read));
    CHECK(trained.vocabulary->fingerprint() == read.vocabulary->fingerprint());
    write_hugging_face(directory / "out", *trained.model, trained.vocabulary.get());
    for (const char* file : {"source.spm", "target.spm", "vocab.json"})
      CHECK(read_file(directory / "out" / file) == read_file(marian_golden(name) / file));
    const Json config = read_json(marian_golden(name) / "config.json");
    const Json written = read_json(directory / "out/config.json");
    for (const auto& [key, value] : written.items()) {
      CAPTURE(key);
      if (config.contains(key) && !config[key].is_null() && key != "activation_function") CHECK(value == config[key]);
    }
    const HuggingFaceModel again = read_hugging_face(directory / "out");
    CHECK(weights(again) == weights(read));
    CHECK(marian_of(again).config().to_json() == marian_of(read).config().to_json());
    CHECK(again.vocabulary->fingerprint() == read.vocabulary->fingerprint());
  }
}

TEST_CASE("marian: an exported model of Gyre computes the same, and its vocabulary gets a padding") {
  const auto vocabulary = load_vocabulary(marian_golden("swish") / "source.spm");
  const TokenIds source = vocabulary->encode("the cat sees a dog"), target = vocabulary->encode("the red house");
  for (const auto& [layout, name] : kEnumNames<SinusoidLayout>) {
    CAPTURE(name);
    const TemporaryDirectory directory;
    const auto model = own_translation_model(*vocabulary, layout);
    write_hugging_face(directory / "out", *model, vocabulary.get());
    const HuggingFaceModel read = read_hugging_face(directory / "out");
    REQUIRE(read.vocabulary);
    const auto& position = marian_of(read).config().position;
    CHECK(position.get<SinusoidalOptions>().layout == layout);
    CHECK(read.vocabulary->bos() == vocabulary->size());
    CHECK(read.vocabulary->eos() == vocabulary->eos());
    for (int side = 0; side < 2; ++side) {
      CHECK(read.vocabulary->side(side).encode("the cat sees a dog") == source);
      CHECK(read.vocabulary->side(side).decode(source) == "the cat sees a dog");
    }
    const Tensor before = target_logits(*model, *vocabulary, source, target);
    const Tensor after = target_logits(marian_of(read), *read.vocabulary, source, target);
    REQUIRE(after.cols() == before.cols() + 1);
    for (int64_t row = 0; row < before.dim(0); ++row) {
      const auto expected = before.slice(row, row + 1).to_vector<float>();
      const auto got = after.slice(row, row + 1).to_vector<float>();
      for (size_t j = 0; j < expected.size(); ++j) CHECK(std::abs(got[j] - expected[j]) < 1e-5);
      CHECK(got.back() < -1000);
    }
    const Json generation = read_json(directory / "out" / kGenerationConfigFile);
    CHECK(generation["bad_words_ids"] == Json::array({{vocabulary->size()}, {vocabulary->bos()}, {vocabulary->unk()}}));
    CHECK(generation["decoder_start_token_id"] == vocabulary->size());
  }
}

// transformers does not save tables of positions, in which an export keeps the embedding of <s>.
TEST_CASE("marian: an exported model that transformers saved again is refused") {
  const auto vocabulary = load_vocabulary(marian_golden("swish") / "source.spm");
  const TemporaryDirectory directory;
  write_hugging_face(directory / "out", *own_translation_model(*vocabulary, SinusoidLayout::transformers),
                     vocabulary.get());
  std::vector<NamedTensor> tensors;
  {
    const SafetensorsFile file(directory / "out/model.safetensors");
    for (const SafetensorsEntry& entry : file.entries())
      if (!contains(entry.name, "embed_positions")) tensors.push_back({entry.name, file.read(entry)});
  }
  write_safetensors(directory / "out/model.safetensors", tensors);
  CHECK(contains(error_of([&] { read_hugging_face(directory / "out"); }),
                 "save_pretrained of transformers leaves it out"));
}

TEST_CASE("marian: a model that MarianMTModel cannot represent is refused before anything is written") {
  const auto vocabulary = load_vocabulary(marian_golden("swish") / "source.spm");
  const TemporaryDirectory directory;
  const EncoderDecoderConfig good = own_translation_model(*vocabulary, SinusoidLayout::half_split)->config();
  struct Refused {
    const char* expected;
    void (*change)(EncoderDecoderConfig&);
  };
  const Refused cases[] = {
      {R"(position: expected "sinusoidal", got "rope")", [](auto& c) { c.position.encoding = "rope"; }},
      {R"(position: expected "sinusoidal", got "shaw")", [](auto& c) { c.position.encoding = "shaw"; }},
      {R"(norm: expected "post", got "pre")", [](auto& c) { c.norm = NormPlacement::pre; }},
      {"tied_output: expected true, got false", [](auto& c) { c.tied_output = false; }},
      {"layer_norm_epsilon: expected 1e-05, got 1e-06", [](auto& c) { c.layer_norm_epsilon = 1e-6; }}};
  for (const auto& [expected, change] : cases) {
    CAPTURE(expected);
    EncoderDecoderConfig config = good;
    change(config);
    EncoderDecoder model(config);
    model.parameters().allocate(1);
    const std::string error = error_of([&] { write_hugging_face(directory / "out", model, vocabulary.get()); });
    CAPTURE(error);
    CHECK(contains(error, expected));
    CHECK_FALSE(std::filesystem::exists(directory / "out"));
  }
}

TEST_CASE("marian: what is not understood is refused with the key") {
  check_config_errors(
      marian_golden,
      {{"swish", "normalize_before", true, "normalize_before: expected false, the only supported value, got true"},
       {"swish", "share_encoder_decoder_embeddings", false, "share_encoder_decoder_embeddings: expected true"},
       {"swish", "decoder_ffn_dim", 21, "decoder_ffn_dim: expected that of the encoder, 20, got 21"},
       {"swish", "decoder_attention_heads", 4, "decoder_attention_heads: expected that of the encoder, 3, got 4"},
       {"swish", "activation_function", "tanh", "activation"},
       {"swish", "model_type", "bart", "model_type: expected \"marian\""},
       {"swish", "decoder_start_token_id", 1, "decoder_start_token_id, eos_token_id: expected the ids of the padding"},
       {"swish", "decoder_start_token_id", 100000, "decoder_start_token_id: expected an id below"},
       {"swish", "eos_token_id", "x", "eos_token_id: expected an id, got \"x\""},
       {"swish", "encoder_layers", 3, "model.encoder.layers.2"}});
}

TEST_CASE("marian: tables of positions must be sinusoids") {
  const auto with_table = [](const HuggingFaceCopy& copy, const char* name, float added, size_t place) {
    copy.change([&](std::vector<NamedTensor>& tensors) {
      std::erase_if(tensors, [&](const NamedTensor& t) { return t.name == name; });
      const Tensor table = sinusoid_table(SinusoidLayout::transformers, 40, 24).to(DType::f32);
      table.data<float>()[place] += added;
      tensors.push_back({name, table});
    });
  };
  const auto original = weights(read_hugging_face(marian_golden("swish")));
  for (const char* name : {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"}) {
    CAPTURE(name);
    const HuggingFaceCopy copy("swish", marian_golden);
    with_table(copy, name, 0, 0);
    CHECK(weights(read_hugging_face(copy.path())) == original);
    with_table(copy, name, 0.5F, 100);
    CHECK(contains(copy.error(), name));
  }
  // A first row of its own needs a piece that is never produced.
  const HuggingFaceCopy copy("swish", marian_golden);
  with_table(copy, "model.decoder.embed_positions.weight", 0.5F, 3);
  CHECK(contains(copy.error(), "expected a sinusoid in the first row, or a final_logits_bias"));
}

TEST_CASE("marian: without a tokenizer, and with other tables that repeat the shared one") {
  const HuggingFaceCopy copy("gelu", marian_golden);
  std::filesystem::remove(copy / "source.spm");
  const HuggingFaceModel read = read_hugging_face(copy.path());
  CHECK(read.vocabulary == nullptr);
  CHECK(read.notes == std::vector<std::string>{concat("no source.spm, target.spm and vocab.json in ",
                                                      copy.path().string(), ": the model has no vocabulary")});
  copy.change([](std::vector<NamedTensor>& tensors) {
    const auto is_table = [](const NamedTensor& t) {
      return t.name == "model.shared.weight" || t.name.ends_with("embed_tokens.weight") || t.name == "lm_head.weight";
    };
    const Tensor table = std::ranges::find_if(tensors, is_table)->tensor;
    std::erase_if(tensors, is_table);
    tensors.push_back({"model.decoder.embed_tokens.weight", table});
    tensors.push_back({"lm_head.weight", table.clone()});
  });
  const HuggingFaceModel other = read_hugging_face(copy.path());
  CHECK(weights(other) == weights(read));
  CHECK(std::ranges::count(other.tensors.repeats, "lm_head.weight") == 1);
  copy.change([](std::vector<NamedTensor>& tensors) { tensor_named(tensors, "lm_head.weight").data<float>()[7] += 1; });
  CHECK(contains(copy.error(), "lm_head.weight: expected the same as the shared table"));
}

TEST_CASE("marian: a pair of vocabularies encodes by its sides, and its copy is complete") {
  const auto pair = read_marian_vocabulary(marian_golden("swish"), 100);
  REQUIRE(pair);
  CHECK(pair->kind() == "pair");
  CHECK(pair->shares_ids());
  CHECK(pair->side(0).size() == 100);
  CHECK(contains(error_of([&] { pair->encode("the cat"); }), "which only translation reads"));
  const TokenIds coded = pair->side(0).encode(">>deu<< the cat");
  CHECK(pair->side(0).piece(coded.front()) == ">>deu<<");
  CHECK(pair->side(0).encode(">>xyz<< the cat").front() == pair->unk());
  const TemporaryDirectory directory;
  pair->save(directory / "vocab.model");
  const auto copy = load_vocabulary(directory / "vocab.model");
  CHECK(copy->fingerprint() == pair->fingerprint());
  CHECK(copy->side(1).encode("die Katze") == pair->side(1).encode("die Katze"));
  CHECK(contains(error_of([&] { read_marian_vocabulary(marian_golden("swish"), 20); }), "expected ids below 20"));
}
