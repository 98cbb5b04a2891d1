// Models on a GPU against the same models on the CPU.
#include <doctest/doctest.h>

#include "core/random.h"
#include "models/decode/translate.h"
#include "tests/gpu.h"
#include "tests/models/tiny_encoder.h"

namespace gyre {

using tests::Sentences;

// A GPU's model gets the CPU's weights.
template <class Model, class Config>
static std::unique_ptr<Model> lively_model(const Config& config, const Kernels& kernels) {
  Model on_cpu(config);
  tests::allocate_lively(on_cpu.parameters(), 5);
  auto model = std::make_unique<Model>(config);
  model->parameters().allocate(0, DType::f32, kernels.device());
  model->parameters().values().copy_from(on_cpu.parameters().values());
  return model;
}

struct LossAndGradients {
  double loss;
  std::vector<float> gradients;
};

template <class Model, class... Arguments>
static LossAndGradients backward(Model& model, Kernels& kernels, const Arguments&... arguments) {
  Tape tape(kernels, {.record = true, .training = true, .seed = 3, .unit_cotangent = true});
  const LossResult result = model.loss(tape, arguments...);
  tape.backward(result.loss);
  return {result.sums.loss, model.parameters().gradients().to_cpu().template to_vector<float>()};
}

static void check_alike(const LossAndGradients& actual, const LossAndGradients& expected) {
  CHECK(actual.loss == doctest::Approx(expected.loss).epsilon(1e-5));
  float largest = 0;
  for (float g : expected.gradients) largest = std::max(largest, std::abs(g));
  for (size_t i = 0; i < expected.gradients.size(); ++i) {
    REQUIRE(std::abs(actual.gradients[i] - expected.gradients[i]) <= 1e-4F * largest);
  }
}

static std::vector<EncoderDecoderConfig> configs() {
  std::vector<EncoderDecoderConfig> all;
  for (const std::string& name : position_encoding_names()) all.push_back(tests::tiny_config(name));
  EncoderDecoderConfig learnable = tests::tiny_config("rope", NormPlacement::post);
  learnable.position.rope_learnable = learnable.position.rope_rotate_cross = true;
  all.push_back(learnable);
  for (EncoderDecoderConfig& config : all) config.dropout = 0.2;
  return all;
}

TEST_CASE("a GPU gives the CPU's losses and gradients") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const PairInput batch = tests::make_batch(tests::random_sentences(5, 9, 11, 1), tests::random_sentences(5, 9, 11, 2));
  for (const EncoderDecoderConfig& config : configs()) {
    CAPTURE(config.position.encoding);
    const auto here = lively_model<EncoderDecoder>(config, cpu_kernels());
    const auto there = lively_model<EncoderDecoder>(config, *gpu);
    check_alike(backward(*there, *gpu, batch, 0.1), backward(*here, cpu_kernels(), batch, 0.1));
  }
}

TEST_CASE("a GPU trains an encoder as the CPU does") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const EncoderOnlyConfig config = tests::tiny_encoder();
  const MaskedInput batch = tests::masked_batch({{3, 4, 5, 6}, {7, 8, 9}});
  const auto here = lively_model<EncoderOnly>(config, cpu_kernels()), there = lively_model<EncoderOnly>(config, *gpu);
  check_alike(backward(*there, *gpu, batch), backward(*here, cpu_kernels(), batch));
}

TEST_CASE("a GPU finds the CPU's translations") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const Sentences sources = tests::with_eos(tests::random_sentences(7, 8, 11, 4));
  const DecodeOptions options{.beam_size = 3, .max_length_extra = 6, .n_best = 2};
  for (const EncoderDecoderConfig& config : configs()) {
    CAPTURE(config.position.encoding);
    const auto here = lively_model<EncoderDecoder>(config, cpu_kernels());
    const auto there = lively_model<EncoderDecoder>(config, *gpu);
    const auto expected = translate(*here, cpu_kernels(), sources, options, {.sentences = 4});
    const auto actual = translate(*there, *gpu, sources, options, {.sentences = 4});
    for (size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(actual[i].size() == expected[i].size());
      for (size_t j = 0; j < expected[i].size(); ++j) {
        CHECK(actual[i][j].ids == expected[i][j].ids);
        CHECK(actual[i][j].score == doctest::Approx(expected[i][j].score).epsilon(1e-4));
      }
    }
  }
}

}  // namespace gyre
