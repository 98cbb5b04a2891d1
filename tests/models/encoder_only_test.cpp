#include "gyre/models/encoder_only.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "gyre/models/position/nezha.h"
#include "gyre/models/position/position_table.h"
#include "gyre/models/position/rope.h"
#include "tests/models/tiny_encoder.h"
#include "tests/threads_in_scope.h"

namespace gyre {
namespace {

using test::ids_of;
using test::kSentences;
using test::masked_batch;
using test::Sentences;
using test::tiny_encoder;

EncoderOnlyConfig tiny_decoder(const std::string& position) {
  EncoderOnlyConfig config = test::causal_encoder(position);
  config.head_transform = false;
  return config;
}

std::vector<EncoderOnlyConfig> encoder_variants() {
  std::vector<EncoderOnlyConfig> all;
  for (const std::string& position : position_encoding_names()) {
    all.push_back(tiny_encoder(position, NormPlacement::pre));
    all.push_back(tiny_encoder(position, NormPlacement::post, true));
    all.push_back(tiny_decoder(position));
  }
  EncoderOnlyConfig bert = tiny_encoder("learned", NormPlacement::post, true);
  bert.token_types = 2;
  bert.embedding_norm = true;
  all.push_back(bert);
  EncoderOnlyConfig roformer = tiny_encoder("rope", NormPlacement::post, true);
  roformer.embedding_norm = true;
  roformer.embedding_dim = 6;
  roformer.position.get<RopeOptions>().rotate_values = roformer.position.get<RopeOptions>().learnable = true;
  all.push_back(roformer);
  for (const EncoderOnlyConfig& decoder : test::tiny_decoders()) all.push_back(decoder);
  return all;
}

Tensor logits_of(const EncoderOnly& model, const Sentences& sentences) {
  Tape tape(cpu_kernels(), {.record = false});
  const MaskedInput batch = masked_batch(sentences);
  return model.logits(model.encode(tape, batch.ids, batch.segments)).value();
}

using Rows = std::vector<int64_t>;

// The rows of the batch whose logits depend on this word of its first sentence.
Rows rows_changed_by(const EncoderOnly& model, size_t word) {
  Sentences changed = kSentences;
  changed[0][word] = 6;
  const Tensor before = logits_of(model, kSentences), after = logits_of(model, changed);
  Rows rows;
  for (int64_t row = 0; row < before.rows(); ++row) {
    const auto numbers = [row](const Tensor& t) { return t.slice(row, row + 1).to_vector<float>(); };
    if (numbers(before) != numbers(after)) rows.push_back(row);
  }
  return rows;
}

double loss_of(const EncoderOnly& model, const MaskedInput& batch) {
  Tape tape(cpu_kernels(), {.record = false});
  return model.loss(tape, batch).sums().loss;
}

}  // namespace

TEST_CASE("the matrices of stacked weights are separate") {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("llama-tiny");
  config.vocab_size = 19;
  EncoderOnly model(config);
  const auto rows = [&](const char* name) { return model.parameters().find(name)->matrix_rows; };
  CHECK(rows("encoder.layers.0.self_attn.qkv_proj.weight") == std::vector<int64_t>{384, 128, 128});
  CHECK(rows("encoder.layers.0.fc1.weight") == std::vector<int64_t>{1024, 1024});
  CHECK(rows("encoder.layers.0.fc2.weight") == std::vector<int64_t>{384});
}

TEST_CASE("encoder-only: a packed batch gives the same results as its sentences one by one") {
  for (const EncoderOnlyConfig& config : encoder_variants()) {
    CAPTURE(config.position.encoding);
    EncoderOnly model(config);
    test::allocate_nonzero(model.parameters(), 5);
    const Tensor packed = logits_of(model, kSentences);
    int64_t row = 0;
    for (const auto& sentence : kSentences) {
      const Tensor alone = logits_of(model, {sentence});
      for (int64_t j = 0; j < alone.size(); ++j)
        CHECK(packed.data<float>()[row * packed.cols() + j] == doctest::Approx(alone.data<float>()[j]).epsilon(1e-4));
      row += alone.rows();
    }
    CHECK(row == packed.rows());
  }
}

TEST_CASE("encoder-only: gradients of the loss") {
  const ThreadsInScope one_thread(1);
  const MaskedInput batch = masked_batch(kSentences);
  for (EncoderOnlyConfig config : encoder_variants()) {
    CAPTURE(config.position.encoding);
    config.attention_dropout = config.activation_dropout = 0.1;
    EncoderOnly model(config);
    test::allocate_nonzero(model.parameters(), 5, DType::f64);
    test::check_gradients(model.parameters(), [&](Tape& tape) { return model.loss(tape, batch); });
  }
}

TEST_CASE("encoder-only: every row attends to all of its segment and nothing else") {
  EncoderOnly model(tiny_encoder());
  test::allocate_nonzero(model.parameters(), 5);
  CHECK(rows_changed_by(model, 3) == Rows{0, 1, 2, 3});
}

TEST_CASE("encoder-only: with every position encoding, a causal row attends only to itself and earlier rows") {
  for (const std::string& position : position_encoding_names()) {
    CAPTURE(position);
    EncoderOnly model(tiny_decoder(position));
    test::allocate_nonzero(model.parameters(), 5);
    CHECK(rows_changed_by(model, 2) == Rows{2, 3});  // all other rows are bitwise unchanged
  }
}

TEST_CASE("encoder-only: a causal model can predict all rows") {
  EncoderOnly model(tiny_decoder("rope"));
  test::allocate_nonzero(model.parameters(), 5);
  MaskedInput batch = masked_batch(kSentences);
  batch.targets = ids_of({7, 3, 9, -1, -1, 6, 8, -1});  // -1: no next token
  batch.masked_rows = ids_of({0, 1, 2, 3, 4, 5, 6, 7});
  const double chosen = loss_of(model, batch);
  batch.masked_rows = {};
  CHECK(loss_of(model, batch) == chosen);
}

TEST_CASE("encoder-only: presets equal the defaults of Hugging Face") {
  const EncoderOnlyConfig bert = EncoderOnlyConfig::preset("bert-base"),
                          nezha = EncoderOnlyConfig::preset("nezha-base"),
                          roformer = EncoderOnlyConfig::preset("roformer-base");
  CHECK(bert.position.encoding == "learned");
  CHECK(bert.position.get<PositionTableOptions>().max_positions == 512);
  CHECK(roformer.position.encoding == "rope");
  CHECK(roformer.position.get<PositionTableOptions>().max_positions == 1536);
  CHECK(nezha.position.encoding == "nezha");
  CHECK(nezha.position.get<NezhaOptions>().clip == 64);
  CHECK(EncoderOnlyConfig::preset("wobert-base").to_json() == bert.to_json());
  // Parameter counts of BertForMaskedLM, NezhaForMaskedLM and RoFormerForMaskedLM.
  for (auto [config, count] :
       {std::pair(bert, 109'514'298), std::pair(nezha, 109'121'082), std::pair(roformer, 109'121'082)}) {
    config.vocab_size = 30522;
    CHECK(EncoderOnly(config).parameters().elements() == count);
  }
  // Those of GPT2LMHeadModel, LlamaForCausalLM and GPTNeoXForCausalLM.
  for (const auto& [name, vocab_size, count] :
       {std::tuple("gpt2-small", 50257, 124'439'808), std::tuple("llama-160m", 32000, 162'417'408),
        std::tuple("llama-1b", 128256, 1'235'814'400), std::tuple("neox-160m", 50304, 162'322'944)}) {
    CAPTURE(name);
    EncoderOnlyConfig config = EncoderOnlyConfig::preset(name);
    config.vocab_size = vocab_size;
    CHECK(EncoderOnly(config).parameters().elements() == count);
  }
  EncoderOnly none(tiny_encoder());
  none.parameters().allocate(1);
  MaskedInput batch = masked_batch(kSentences);
  batch.token_types = Tensor::zeros({8}, DType::i32);
  CHECK_THROWS_WITH_AS(loss_of(none, batch), "[token types] expected none: this model has no token types", Error);
}

TEST_CASE("encoder-only: scaled embeddings equal those of a scaled table") {
  EncoderOnlyConfig config = tiny_encoder("sinusoidal", NormPlacement::post);
  EncoderOnly plain(config);
  config.scale_embedding = true;
  EncoderOnly scaled(config);
  plain.parameters().allocate(1);
  scaled.parameters().allocate(1);
  Tensor& table = plain.parameters().find("embed_tokens.weight")->value;
  for (float& x : std::span(table.data<float>(), size_t(table.size()))) x *= std::sqrt(8.0F);
  const MaskedInput batch = masked_batch(kSentences);
  Tape tape(cpu_kernels(), {.record = false});
  const auto a = plain.encode(tape, batch.ids, batch.segments).value().to_vector<float>(),
             b = scaled.encode(tape, batch.ids, batch.segments).value().to_vector<float>();
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
}

TEST_CASE("encoder-only: parameters, config and invalid batches") {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("mlm-small");
  CHECK(config.activation == Activation::gelu);
  CHECK_THROWS_WITH_AS(EncoderOnly{config}, "[vocab_size] must be at least 1, got 0", Error);
  config.vocab_size = 8192;
  config.output_bias = true;
  CHECK(EncoderOnlyConfig::from_json(config.to_json()).to_json() == config.to_json());
  CHECK_THROWS_WITH_AS(
      EncoderOnlyConfig::preset("mlm-tiny"),
      "[preset] expected one of mlm-small, bert-mini, bert-small, bert-base, wobert-mini, wobert-small, "
      "wobert-base, nezha-mini, nezha-small, nezha-base, roformer-mini, roformer-small, "
      "roformer-base, lm-nano, lm-tiny, gpt2-small, llama-tiny, llama-160m, llama-1b, neox-160m, got \"mlm-tiny\"",
      Error);
  CHECK_THROWS_WITH_AS(EncoderOnlyConfig::from_json({{"decoder_layers", 1}}), "[config] unknown key \"decoder_layers\"",
                       Error);

  EncoderOnly model(config);
  const int64_t d = 256, ffn = 1024, layer = 4 * (d * d + d) + 2 * d * ffn + ffn + d + 4 * d;
  CHECK(model.parameters().elements() == 8192 * d + 4 * layer + d * d + d + 2 * d + 8192);
  for (const char* name : {"embed_tokens.weight", "encoder.layers.3.self_attn.qkv_proj.weight", "lm_head.dense.weight",
                           "lm_head.layer_norm.weight", "lm_head.bias"})
    CHECK(model.parameters().find(name));

  EncoderOnly small(tiny_encoder("learned", NormPlacement::pre));
  small.parameters().allocate(1);
  CHECK(small.longest() == 40);
  MaskedInput batch = masked_batch(kSentences);
  batch.targets = ids_of({1});
  CHECK_THROWS_WITH_AS(loss_of(small, batch), "[masked rows] expected as many targets as rows, 3, got 1", Error);
  batch = masked_batch(kSentences);
  batch.ids = ids_of({1, 2});
  CHECK_THROWS_WITH_AS(loss_of(small, batch), "[encoder] expected 8 ids, got 2", Error);
}

}  // namespace gyre
