// Tests that models have the same loss and gradients, bit for bit, if backward computes activations again.
#include <doctest/doctest.h>

#include <functional>

#include "gyre/core/memory.h"
#include "gyre/models/position/rope.h"
#include "gyre/models/sequence_classifier.h"
#include "tests/autograd/op_run.h"
#include "tests/emulated_bf16.h"
#include "tests/gpu.h"
#include "tests/models/tiny_encoder.h"

namespace gyre {
namespace {

using test::kSentences;
using Loss = std::function<LossResult(Tape&)>;

void set_dropouts(LayerConfig& config) {
  config.dropout = 0.2;
  config.activation_dropout = 0.1;
  if (config.attention.kind == AttentionKind::softmax) config.attention_dropout = 0.1;
}

struct Result {
  double loss = 0;
  Tensor gradients;
};

// Two passes, whose gradients accumulate. The order in which parameters are ready goes to `ready`.
Result train(Kernels& kernels, Parameters& parameters, const Loss& loss, Precision precision, Recompute recompute,
             std::vector<std::string>& ready) {
  struct Ready final : TapeObserver {
    std::vector<std::string>& names;
    explicit Ready(std::vector<std::string>& names) : names(names) {}
    void on_parameter_ready(Parameter& p) override { names.push_back(p.name); }
  } observer(ready);
  parameters.gradients().zero();
  Result result;
  for (const uint64_t seed : {3, 4}) {
    Tape tape(kernels, {.record = true,
                        .training = true,
                        .seed = seed,
                        .precision = precision,
                        .loss_seeded = true,
                        .parameters = &parameters,
                        .recompute = recompute});
    tape.add_observer(observer);
    const LossResult of_pass = loss(tape);
    tape.backward(of_pass.loss);
    result.loss += of_pass.sums().loss;
  }
  result.gradients = parameters.gradients().to_cpu().clone();
  return result;
}

void check_same(Kernels& kernels, Parameters& parameters, const Loss& loss) {
  const EmulatedBf16 emulated = bf16_on_any_cpu();
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    std::vector<std::string> order;
    const Result kept = train(kernels, parameters, loss, precision, Recompute::none, order);
    CHECK_GT(largest_magnitude({kept.gradients}), 1e-3);
    for (const Recompute recompute : {Recompute::attention, Recompute::block}) {
      CAPTURE(enum_name(recompute));
      std::vector<std::string> again;
      const Result result = train(kernels, parameters, loss, precision, recompute, again);
      CHECK(result.loss == kept.loss);
      CHECK(same_bits(result.gradients, kept.gradients));
      CHECK_EQ(again, order);
    }
  }
}

// The model has the weights of allocate_nonzero() on the kernels' device.
void check_same(EncoderOnlyConfig config, Kernels& kernels = cpu_kernels()) {
  set_dropouts(config);
  CAPTURE(config.describe());
  EncoderOnly on_cpu(config), model(config);
  test::allocate_nonzero(on_cpu.parameters(), 5);
  model.parameters().allocate(0, DType::f32, kernels.device());
  model.parameters().values().copy_from(on_cpu.parameters().values());
  const MaskedInput batch = test::masked_batch(kSentences);
  check_same(kernels, model.parameters(), [&](Tape& tape) { return model.loss(tape, batch); });
}

}  // namespace

TEST_CASE("recompute: decoders and encoders of all kinds have the same bits") {
  for (const EncoderOnlyConfig& config : test::tiny_decoders()) check_same(config);
  for (const NormPlacement norm : {NormPlacement::pre, NormPlacement::post}) {
    for (const std::string& position : position_encoding_names()) check_same(test::tiny_encoder(position, norm));
    EncoderOnlyConfig linear = test::tiny_encoder("rope", norm);
    linear.attention.kind = AttentionKind::linear;
    check_same(linear);
  }
}

TEST_CASE("recompute: encoder-decoders have the same bits, also with R-Drop") {
  const PairInput batch = test::make_batch(kSentences, {{6, 3, 8}, {9, 4, 10, 5, 7}, {}});
  std::vector<EncoderDecoderConfig> all{test::tiny_config("rope", NormPlacement::pre),
                                        test::tiny_config("xl", NormPlacement::post),
                                        test::tiny_config("rope", NormPlacement::post)};
  RopeOptions& learnable = all.back().position.get<RopeOptions>();
  learnable.learnable = learnable.rotate_cross = true;
  for (EncoderDecoderConfig config : all) {
    set_dropouts(config);
    CAPTURE(config.describe());
    EncoderDecoder model(config);
    test::allocate_nonzero(model.parameters(), 5);
    check_same(cpu_kernels(), model.parameters(), [&](Tape& tape) { return model.loss(tape, batch, 0.1); });
    check_same(cpu_kernels(), model.parameters(), [&](Tape& tape) { return model.r_drop_loss(tape, batch, 0.1, 2); });
  }
}

TEST_CASE("recompute: classifiers have the same bits") {
  ClassifierConfig config{.encoder = test::tiny_encoder()};
  set_dropouts(config.encoder);
  SequenceClassifier model(config);
  test::allocate_nonzero(model.parameters(), 5);
  const LabeledInput batch{test::ids_of({1, 7, 2, 6, 8}), Segments::from_lengths({3, 2}), test::ids_of({0, 1})};
  check_same(cpu_kernels(), model.parameters(), [&](Tape& tape) { return model.loss(tape, batch); });
}

TEST_CASE("recompute: the same bits on a GPU") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  check_same(test::tiny_encoder("rope", NormPlacement::post), *gpu);
  check_same(test::tiny_decoders().front(), *gpu);
}

TEST_CASE("recompute: `attention` keeps no projections, and `block` of 12 layers less than 40 % of the activations") {
  EncoderOnlyConfig config = test::tiny_decoders().front();
  config.layers = 12;
  config.dim = 32;
  config.ffn = 86;
  config.heads = 4;
  EncoderOnly model(config);
  model.parameters().allocate(1);
  std::vector<int32_t> ids(200, 3);
  const MaskedInput batch{test::ids_of(ids), Segments::from_lengths({120, 80}), {}, test::ids_of(ids)};
  const auto recorded = [&](Recompute recompute) {
    const size_t before = memory_stats().active_bytes;
    Tape tape(cpu_kernels(), {.training = true, .loss_seeded = true, .recompute = recompute});
    model.loss(tape, batch);
    return double(memory_stats().active_bytes - before);
  };
  const double kept = recorded(Recompute::none);
  const double projections = 12.0 * 200 * double(config.query_dim() + 2 * config.key_dim()) * sizeof(float);
  CHECK(recorded(Recompute::attention) <= kept - projections);
  CHECK(recorded(Recompute::block) < 0.4 * kept);
}

}  // namespace gyre
