// Compares the FLOPs of whole models with counts by hand.
#include <doctest/doctest.h>

#include "gyre/models/decode/translate.h"
#include "gyre/models/encoder_only.h"
#include "tests/models/tiny_model.h"

namespace gyre {
namespace {

double product(double n, double d, double o) { return 2 * n * d * o; }

// FLOPs of a layer's matrix products: `projections` products with (dim, dim), and the feed-forward block.
double layer_products(const LayerConfig& c, double rows, int projections) {
  return projections * product(rows, double(c.dim), double(c.dim)) + 2 * product(rows, double(c.dim), double(c.ffn));
}

double attention(const LayerConfig& c, double pairs) { return 4 * pairs * double(c.dim); }

double loss_flops(const EncoderDecoder& model, const test::Sentences& sources, const test::Sentences& targets) {
  Tape tape(cpu_kernels(), {.record = false});
  model.loss(tape, test::make_batch(sources, targets), 0.1);
  return tape.flops();
}

}  // namespace

TEST_CASE("flops of an encoder-decoder's forward pass") {
  const EncoderDecoderConfig c = test::tiny_config();
  EncoderDecoder model(c);
  model.parameters().allocate(1);
  // 3 + 1 and 0 + 1 source tokens, 2 + 1 and 4 + 1 target tokens.
  const double source = 5, target = 8, layers = 2;
  const double encoder = layer_products(c, source, 4) + attention(c, 4 * 4 + 1 * 1);
  const double decoder = layer_products(c, target, 6) + 2 * product(source, 8, 8) +
                         attention(c, (3 * 4 + 5 * 6) / 2.0) + attention(c, 3 * 4 + 5 * 1);
  CHECK(loss_flops(model, {{4, 5, 6}, {}}, {{3, 4}, {5, 6, 7, 8}}) ==
        layers * (encoder + decoder) + product(target, 8, 11));
}

TEST_CASE("greedy search takes as many flops as teacher forcing with its output") {
  EncoderDecoder model(test::tiny_config());
  test::allocate_nonzero(model.parameters(), 5);
  const test::Sentences sources = test::random_sentences(6, 9, 11, 3);
  double flops = 0, expected = 0;
  const auto results =
      translate(model, cpu_kernels(), test::with_eos(sources), {.beam_size = 1}, {.sentences = 4}, {}, &flops);
  for (size_t i = 0; i < sources.size(); ++i) expected += loss_flops(model, {sources[i]}, {results[i].front().ids});
  CHECK(flops == expected);
}

TEST_CASE("flops of masked language modeling: the head computes only masked rows") {
  EncoderOnlyConfig c;
  c.vocab_size = 11;
  c.dim = 8;
  c.ffn = 12;
  c.heads = c.layers = 2;
  EncoderOnly model(c);
  model.parameters().allocate(1);
  Tape tape(cpu_kernels(), {});
  const auto ids = [](const std::vector<int32_t>& v) { return Tensor::from({int64_t(v.size())}, v); };
  model.loss(tape, {ids({4, 5, 6, 7}), Segments::from_lengths({3, 1}), ids({0, 2}), ids({9, 9})});
  CHECK(tape.flops() == 2 * (layer_products(c, 4, 4) + attention(c, 3 * 3 + 1)) + product(2, 8, 8) + product(2, 8, 11));
}

}  // namespace gyre
