// Trains a language model over characters (bytes) with a custom training loop.
//   char_lm [UPDATES [FILE]]     default text: English sentences of Gyre's synthetic corpus
#include <gyre/core/io/file.h>
#include <gyre/core/random.h>
#include <gyre/data/synthetic/embedded_corpus.h>
#include <gyre/models/encoder_only.h>
#include <gyre/train/optim/optimizer.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace gyre;

constexpr int kSamples = 16, kLength = 64;  // samples per batch, characters per sample

Tensor encode(const std::string& text) {
  std::vector<int32_t> ids;
  for (const unsigned char c : text) ids.push_back(c);
  return Tensor::from({int64_t(ids.size())}, ids);
}

// Draws samples from random positions. The targets are the next characters.
MaskedInput draw_batch(const std::string& text, RandomStream& random) {
  std::string inputs, targets;
  for (int i = 0; i < kSamples; ++i) {
    const size_t begin = random.below(text.size() - kLength);
    inputs += text.substr(begin, kLength), targets += text.substr(begin + 1, kLength);
  }
  MaskedInput batch;  // all rows are predicted, because `rows` is undefined
  batch.ids = encode(inputs), batch.targets = encode(targets);
  batch.segments = Segments::from_lengths(std::vector<int32_t>(kSamples, kLength));
  return batch;
}

void train(EncoderOnly& model, const std::string& text, int updates) {
  OptimizerOptions options;
  options.schedule.learning_rate = 6e-3, options.schedule.warmup = 50, options.clip_norm = 1;
  options.schedule.kind = "linear", options.schedule.total_updates = uint64_t(updates);
  Optimizer optimizer(model.parameters(), cpu_kernels(), options);
  RandomStream random(/*seed=*/1, hash_name("batches"));
  double loss = 0, characters = 0;  // sums since the last printed line
  for (int update = 1; update <= updates; ++update) {
    Tape tape(cpu_kernels(), {.training = true, .seed = uint64_t(update)});
    const LossResult result = model.loss(tape, draw_batch(text, random));
    tape.backward(result.loss);
    optimizer.update(double(result.predictions));
    loss += result.sums().loss, characters += double(result.predictions);
    if (update > 1 && update % 50 > 0 && update < updates) continue;
    std::printf("update %4d  loss %.3f nats per character\n", update, loss / characters);
    loss = characters = 0;
  }
}

// Continues the text by sampling one character at a time from p^(1 / temperature).
std::string continue_text(const EncoderOnly& model, std::string text, size_t length) {
  constexpr double temperature = 0.4;
  std::mt19937 random;
  while (text.size() < length) {
    Tape tape(cpu_kernels(), {.record = false});
    const std::string seen = text.substr(text.size() - std::min(text.size(), size_t(kLength)));
    const int32_t n = int32_t(seen.size());
    const Var states = model.encode(tape, encode(seen), Segments::from_lengths({n}));
    const Tensor logits = model.logits(gather_rows(states, Tensor::from({1}, std::vector<int32_t>{n - 1}))).value();
    std::vector<double> weights;
    for (const float logit : logits.to_vector<float>()) weights.push_back(std::exp(logit / temperature));
    text += char(std::discrete_distribution<int>(weights.begin(), weights.end())(random));
  }
  return text;
}

int main(int argc, char** argv) try {
  const int updates = argc > 1 ? std::atoi(argv[1]) : 600;
  require(updates > 50, "expected more than 50 updates, got '", argv[1], "'");
  std::string text = argc > 2 ? read_file(argv[2]) : "";
  if (argc <= 2)
    for (const SentencePair& pair : generate_corpus(1, Split::train, 5000)) text += pair.source + "\n";
  require(text.size() > kLength, "expected more than ", kLength, " characters, got ", text.size());

  EncoderOnlyConfig config = EncoderOnlyConfig::preset("lm-tiny");  // causal, with RoPE
  config.vocab_size = 256, config.dropout = 0;
  config.layers = 2, config.dim = 96, config.ffn = 384, config.heads = 4;
  EncoderOnly model(config);
  model.parameters().allocate(/*seed=*/1);
  train(model, text, updates);
  std::printf("\n%s\n", continue_text(model, text.substr(0, text.find(' ')), 400).c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "char_lm: %s\n", error.what());
  return 1;
}
