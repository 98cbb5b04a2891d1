// Compares logits, losses and gradients of whole models with PyTorch (golden/*.py), in f64 and in f32.
#include "tests/models/golden.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/sequence_classifier.h"
#include "tests/models/tiny_model.h"

namespace gyre {
namespace {

using test::check_close;
using test::read_golden;
using test::tolerance;

void set_weights(Parameters& parameters, const Json& weights, DType dtype) {
  parameters.allocate(1, dtype);
  for (Parameter& p : parameters)
    p.value.copy_from(Tensor::from(p.shape, weights.at(p.name).get<std::vector<double>>()).to(dtype));
  parameters.gradients().zero();
}

template <class Logits, class Loss>
void check_pass(Parameters& parameters, const Json& golden, DType dtype, const Logits& logits, const Loss& loss) {
  Tape tape(cpu_kernels(), {});
  check_close(logits(tape).value(), golden["logits"]);
  const LossResult result = loss(tape);
  CHECK(result.sums().loss == doctest::Approx(golden["loss"].get<double>()).epsilon(0.1 * tolerance(dtype)));
  if (golden.contains("nll"))
    CHECK(result.sums().nll == doctest::Approx(golden["nll"].get<double>()).epsilon(0.1 * tolerance(dtype)));
  tape.backward(result.loss);
  for (const auto& [name, gradient] : golden["gradients"].items()) {
    CAPTURE(name);
    check_close(parameters.find(name)->gradient, gradient);
  }
}

void check_encoder_decoder(const Json& golden, const Json& variant, DType dtype) {
  auto sources = golden["sources"].get<test::Sentences>();
  for (auto& s : sources) s.pop_back();  // make_batch adds the EOS
  const PairInput batch = test::make_batch(sources, golden["targets"].get<test::Sentences>());
  EncoderDecoderConfig config = EncoderDecoderConfig::from_json(golden["config"]);
  config.norm = parse_enum<NormPlacement>("norm", variant["norm"].get<std::string>());
  config.position.encoding = variant["position"];
  CAPTURE(config.position.encoding);
  CAPTURE(enum_name(config.norm));
  EncoderDecoder model(config);
  set_weights(model.parameters(), golden["weights"], dtype);
  const auto logits = [&](Tape& tape) {
    const Var encoded = model.encode(tape, batch.source_ids, batch.source);
    return model.logits(model.decode(tape, encoded, batch.source, batch.target_inputs, batch.target));
  };
  check_pass(model.parameters(), variant, dtype, logits,
             [&](Tape& tape) { return model.loss(tape, batch, golden["smoothing"]); });
}

Tensor flat(const Json& lists) {
  std::vector<int32_t> all;
  for (const Json& item : lists) {
    if (item.is_array()) {
      const auto part = item.get<std::vector<int32_t>>();
      all.insert(all.end(), part.begin(), part.end());
    } else {
      all.push_back(item.get<int32_t>());
    }
  }
  return Tensor::from({int64_t(all.size())}, all);
}

Segments segments_of(const Json& golden) {
  std::vector<int32_t> lengths;
  for (const Json& sentence : golden["sentences"]) lengths.push_back(int32_t(sentence.size()));
  return Segments::from_lengths(lengths);
}

void check_encoder_only(const EncoderOnlyConfig& config, const Json& golden, const Json& weights, const Json& variant,
                        DType dtype) {
  const MaskedInput batch{flat(golden["sentences"]), segments_of(golden), flat(golden["masked_rows"]),
                          flat(golden["targets"]), config.token_types > 0 ? flat(golden["token_types"]) : Tensor()};
  EncoderOnly model(config);
  set_weights(model.parameters(), weights, dtype);
  const auto logits = [&](Tape& tape) {
    return model.logits(model.encode(tape, batch.ids, batch.segments, batch.token_types));
  };
  check_pass(model.parameters(), variant, dtype, logits, [&](Tape& tape) { return model.loss(tape, batch); });
}

// The preset of a golden model, with the sizes of that model.
EncoderOnlyConfig hugging_face_config(const Json& golden, const Json& variant) {
  const Json& sizes = golden["sizes"];
  EncoderOnlyConfig config = EncoderOnlyConfig::preset(variant["preset"]);
  config.vocab_size = sizes["vocab_size"];
  config.dim = sizes["dim"];
  config.layers = sizes["layers"];
  config.heads = sizes["heads"];
  config.ffn = sizes["ffn"];
  config.position.get<PositionTableOptions>().max_positions = sizes["max_positions"];
  return config;
}

void check_classifier(const Json& golden, const Json& variant, DType dtype) {
  const ClassifierConfig config{
      .encoder = hugging_face_config(golden, variant),
      .head = parse_enum<ClassifierHead>("head", variant["head"].get<std::string>()),
      .classes = variant["classes"],
  };
  const Tensor labels =
      config.is_regression() ? Tensor::from({3}, golden["scores"].get<std::vector<float>>()) : flat(golden["labels"]);
  const LabeledInput batch{flat(golden["sentences"]), segments_of(golden), labels, flat(golden["token_types"])};
  SequenceClassifier model(config);
  set_weights(model.parameters(), variant["weights"], dtype);
  check_pass(
      model.parameters(), variant, dtype, [&](Tape& tape) { return model.outputs(tape, batch); },
      [&](Tape& tape) { return model.loss(tape, batch); });
}

}  // namespace

TEST_CASE("encoder-decoder agrees with PyTorch") {
  const Json golden = read_golden("encoder_decoder.json");
  REQUIRE(golden["bos"] == test::kBos);
  REQUIRE(golden["eos"] == test::kEos);
  for (const Json& variant : golden["variants"])
    for (DType dtype : {DType::f64, DType::f32}) check_encoder_decoder(golden, variant, dtype);
}

TEST_CASE("encoder-only agrees with PyTorch") {
  const Json golden = read_golden("encoder_only.json");
  for (const Json& variant : golden["variants"]) {
    EncoderOnlyConfig config = EncoderOnlyConfig::from_json(golden["config"]);
    config.norm = parse_enum<NormPlacement>("norm", variant["norm"].get<std::string>());
    CAPTURE(enum_name(config.norm));
    for (DType dtype : {DType::f64, DType::f32}) check_encoder_only(config, golden, golden["weights"], variant, dtype);
  }
}

TEST_CASE("BERT and RoFormer agree with Hugging Face") {
  const Json golden = read_golden("hugging_face.json");
  for (const Json& variant : golden["variants"]) {
    CAPTURE(variant["preset"].dump());
    const EncoderOnlyConfig config = hugging_face_config(golden, variant);
    for (DType dtype : {DType::f64, DType::f32}) check_encoder_only(config, golden, variant["weights"], variant, dtype);
  }
}

TEST_CASE("classifiers of BERT and RoFormer agree with Hugging Face") {
  const Json golden = read_golden("hugging_face.json");
  for (const Json& variant : golden["classifiers"]) {
    CAPTURE(variant["preset"].dump());
    CAPTURE(variant["classes"].dump());
    for (DType dtype : {DType::f64, DType::f32}) check_classifier(golden, variant, dtype);
  }
}

}  // namespace gyre
