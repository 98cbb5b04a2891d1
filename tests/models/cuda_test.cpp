// Compares models on a GPU with the same models on the CPU.
#include <doctest/doctest.h>

#include "gyre/core/random.h"
#include "gyre/models/decode/translate.h"
#include "gyre/models/position/rope.h"
#include "tests/gpu.h"
#include "tests/models/tiny_encoder.h"

namespace gyre {

using test::Sentences;

// A model on the kernels' device, with the weights of a model on the CPU.
template <class Model, class Config>
static std::unique_ptr<Model> nonzero_model(const Config& config, const Kernels& kernels) {
  Model on_cpu(config);
  test::allocate_nonzero(on_cpu.parameters(), 5);
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
  Tape tape(kernels, {.record = true, .training = true, .seed = 3, .loss_seeded = true});
  const LossResult result = model.loss(tape, arguments...);
  tape.backward(result.loss);
  return {result.sums().loss, model.parameters().gradients().to_cpu().template to_vector<float>()};
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
  for (const std::string& name : position_encoding_names()) all.push_back(test::tiny_config(name));
  EncoderDecoderConfig learnable = test::tiny_config("rope", NormPlacement::post);
  RopeOptions& options = learnable.position.get<RopeOptions>();
  options.learnable = options.rotate_cross = true;
  all.push_back(learnable);
  for (EncoderDecoderConfig& config : all) config.dropout = 0.2;
  return all;
}

TEST_CASE("losses and gradients on a GPU equal those on the CPU") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const PairInput batch = test::make_batch(test::random_sentences(5, 9, 11, 1), test::random_sentences(5, 9, 11, 2));
  for (const EncoderDecoderConfig& config : configs()) {
    CAPTURE(config.position.encoding);
    const auto here = nonzero_model<EncoderDecoder>(config, cpu_kernels());
    const auto there = nonzero_model<EncoderDecoder>(config, *gpu);
    check_alike(backward(*there, *gpu, batch, 0.1), backward(*here, cpu_kernels(), batch, 0.1));
  }
}

TEST_CASE("a tape that rounds the parameters at once computes the bits of products that round each weight") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const PairInput batch = test::make_batch(test::random_sentences(5, 9, 11, 1), test::random_sentences(5, 9, 11, 2));
  const std::vector<EncoderDecoderConfig> all = configs();
  for (const EncoderDecoderConfig& config : all) {
    CAPTURE(config.position.encoding);
    const auto model = nonzero_model<EncoderDecoder>(config, *gpu);
    const Tensor values = model->parameters().values();
    std::vector<double> losses;
    const bool is_last = &config == &all.back();
    for (const double scale : is_last ? std::vector{1.0, 0.5} : std::vector{1.0}) {
      gpu->scale(values, values, scale);
      LossAndGradients results[2];
      for (const Parameters* parameters :
           {static_cast<const Parameters*>(nullptr), &std::as_const(*model).parameters()}) {
        model->parameters().gradients().zero();
        Tape tape(*gpu, {.record = true,
                         .training = true,
                         .seed = 3,
                         .precision = Precision::bf16,
                         .loss_seeded = true,
                         .parameters = parameters});
        const LossResult result = model->loss(tape, batch, 0.1);
        tape.backward(result.loss);
        results[parameters ? 1 : 0] = {result.sums().loss, model->parameters().gradients().to_cpu().to_vector<float>()};
      }
      CHECK(results[0].loss == results[1].loss);
      CHECK(results[0].gradients == results[1].gradients);
      losses.push_back(results[1].loss);
    }
    if (is_last) CHECK(losses[0] != losses[1]);  // weights that change between tapes are rounded again
  }
}

TEST_CASE("an encoder-only model has the same loss and gradients on a GPU as on the CPU") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const EncoderOnlyConfig config = test::tiny_encoder();
  const MaskedInput batch = test::masked_batch({{3, 4, 5, 6}, {7, 8, 9}});
  const auto here = nonzero_model<EncoderOnly>(config, cpu_kernels()), there = nonzero_model<EncoderOnly>(config, *gpu);
  check_alike(backward(*there, *gpu, batch), backward(*here, cpu_kernels(), batch));
}

// The output of a causal model for chunks of two texts, of which the first one has two tokens more.
static std::vector<float> states_in_chunks(const EncoderOnly& model, Kernels& kernels) {
  TokenCache cache(int(model.config().layers), {{.tokens = 8, .first_chunk = 4}, {.tokens = 6, .first_chunk = 2}});
  std::vector<float> all;
  for (const std::vector<int32_t>& lengths : {std::vector{4, 2}, {1, 1}, {3, 3}}) {
    const Segments chunk = Segments::from_lengths(lengths);
    std::vector<int32_t> ids;
    for (int i = 0; i < chunk.tokens(); ++i) ids.push_back(3 + (i * i + cache.length(0)) % 8);
    Tape tape(kernels, {.record = false});
    const auto some = model.advance(tape, test::ids_of(ids), chunk, cache).value().to_cpu().to_vector<float>();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST_CASE("decoders with linear attention continue texts on a GPU as on the CPU") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  for (const auto& [map, name] : kEnumNames<FeatureMap>) {
    CAPTURE(name);
    EncoderOnlyConfig config = test::causal_encoder("rope");
    config.attention = {.kind = AttentionKind::linear, .linear_map = map};
    const auto here = nonzero_model<EncoderOnly>(config, cpu_kernels()),
               there = nonzero_model<EncoderOnly>(config, *gpu);
    const std::vector<float> expected = states_in_chunks(*here, cpu_kernels()), actual = states_in_chunks(*there, *gpu);
    REQUIRE(actual.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i) CHECK(actual[i] == doctest::Approx(expected[i]).epsilon(1e-4));
  }
}

TEST_CASE("translations on a GPU equal those on the CPU") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const Sentences sources = test::random_sources(5, 4);
  const DecodeOptions options{.beam_size = 3, .max_length_extra = 6, .n_best = 2};
  for (const EncoderDecoderConfig& config : configs()) {
    CAPTURE(config.position.encoding);
    const auto here = nonzero_model<EncoderDecoder>(config, cpu_kernels());
    const auto there = nonzero_model<EncoderDecoder>(config, *gpu);
    test::check_same(translate(*there, *gpu, sources, options, {.sentences = 4}),
                     translate(*here, cpu_kernels(), sources, options, {.sentences = 4}));
  }
}

TEST_CASE("ensembles and samples on a GPU equal those on the CPU") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const Sentences sources = test::random_sources(7, 4);
  const std::vector<uint64_t> lines{0, 1, 2, 3, 4, 5, 6};
  const DecodeOptions options{.beam_size = 3, .max_length_extra = 6};
  std::vector<std::unique_ptr<EncoderDecoder>> models;
  std::vector<const EncoderDecoder*> here, there;
  for (const char* position : {"rope", "sinusoidal"}) {
    models.push_back(nonzero_model<EncoderDecoder>(test::tiny_config(position), cpu_kernels()));
    here.push_back(models.back().get());
    models.push_back(nonzero_model<EncoderDecoder>(test::tiny_config(position), *gpu));
    there.push_back(models.back().get());
  }
  for (const EnsembleMean mean : {EnsembleMean::probabilities, EnsembleMean::log_probabilities}) {
    const Ensemble on_cpu(here, {2, 1}, mean), on_gpu(there, {2, 1}, mean);
    const auto expected = translate(on_cpu, cpu_kernels(), sources, options);
    const auto actual = translate(on_gpu, *gpu, sources, options);
    const auto expected_samples = sample(on_cpu, cpu_kernels(), sources, lines, options, {});
    const auto samples = sample(on_gpu, *gpu, sources, lines, options, {});
    for (size_t i = 0; i < sources.size(); ++i) {
      CHECK(actual[i].front().ids == expected[i].front().ids);
      CHECK(actual[i].front().score == doctest::Approx(expected[i].front().score).epsilon(1e-4));
      CHECK(samples[i].front().ids == expected_samples[i].front().ids);
    }
  }
}

}  // namespace gyre
