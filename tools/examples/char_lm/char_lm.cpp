// A language model over characters, trained by a loop of one's own.
//   char_lm [UPDATES [FILE]]     without a file: English sentences that Gyre makes itself
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "core/random.h"
#include "data/corpus/embedded_corpus.h"
#include "models/encoder_only.h"
#include "train/optimizer.h"

using namespace gyre;

constexpr int kSamples = 16, kLength = 64;  // of a batch, and the characters of each

std::string read_text(int argc, char** argv) {
  std::string text;
  if (argc > 2) {
    std::ifstream file(argv[2], std::ios::binary);
    require(bool(file), argv[2], ": cannot be read");
    text.assign(std::istreambuf_iterator<char>(file), {});
    require(text.size() > kLength, argv[2], ": expected more than ", kLength, " characters, got ", text.size());
  } else {
    for (const SentencePair& pair : generate_corpus(1, Split::train, 5000)) text += pair.source + "\n";
  }
  return text;
}

// The places of its characters in the alphabet.
Tensor encode(const std::string& text, const std::string& alphabet) {
  std::vector<int32_t> ids;
  for (const char c : text) ids.push_back(int32_t(alphabet.find(c)));
  return Tensor::from({int64_t(ids.size())}, ids);
}

EncoderOnlyConfig configure(int64_t vocab_size) {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("lm-tiny");
  config.vocab_size = vocab_size;
  config.layers = 2, config.dim = 96, config.ffn = 384, config.heads = 4, config.dropout = 0;
  config.position.encoding = "rope";
  return config;
}

// Samples from random places, each with the characters that come next as its targets.
MaskedInput draw_batch(const std::string& text, const std::string& alphabet, RandomStream& random) {
  std::string inputs, targets;
  for (int i = 0; i < kSamples; ++i) {
    const size_t begin = random.below(text.size() - kLength);
    inputs += text.substr(begin, kLength), targets += text.substr(begin + 1, kLength);
  }
  MaskedInput batch;  // all of its rows are predicted
  batch.ids = encode(inputs, alphabet);
  batch.segments = Segments::from_lengths(std::vector<int32_t>(kSamples, kLength));
  batch.targets = encode(targets, alphabet);
  return batch;
}

// Goes on with the text, a character at a time, drawn from p^(1 / temperature).
std::string continue_text(const EncoderOnly& model, std::string text, const std::string& alphabet, size_t length) {
  constexpr double temperature = 0.4;
  RandomStream random(1, hash_name("sample"));
  while (text.size() < length) {
    Tape tape(cpu_kernels(), {.record = false});
    const std::string seen = text.substr(text.size() - std::min(text.size(), size_t(kLength)));
    const int32_t n = int32_t(seen.size());
    const Var states = model.encode(tape, encode(seen, alphabet), Segments::from_lengths({n}));
    const Var last = gather_rows(states, Tensor::from({1}, std::vector<int32_t>{n - 1}));
    const Tensor log_p = scale(model.logits(last), 1 / temperature).value();
    cpu_kernels().log_softmax(log_p, log_p);
    double left = random.uniform();
    size_t next = 0;
    while (next + 1 < alphabet.size() && (left -= std::exp(log_p.data<float>()[next])) > 0) ++next;
    text += alphabet[next];
  }
  return text;
}

void train(EncoderOnly& model, const std::string& text, const std::string& alphabet, int updates) {
  OptimizerOptions options;
  options.learning_rate = 6e-3, options.warmup = 50, options.clip_norm = 1;
  options.schedule = "linear", options.total_updates = uint64_t(updates);
  Optimizer optimizer(model.parameters(), cpu_kernels(), options);
  RandomStream random(1, hash_name("batches"));
  double loss = 0, characters = 0;  // since the last line
  for (int update = 1; update <= updates; ++update) {
    Tape tape(cpu_kernels(), {.training = true, .seed = uint64_t(update)});
    const LossResult result = model.loss(tape, draw_batch(text, alphabet, random));
    tape.backward(result.loss);
    optimizer.update(double(result.sums.tokens));
    loss += result.sums.loss, characters += double(result.sums.tokens);
    if (update == 1 || update % 50 == 0 || update == updates) {
      std::printf("update %4d  loss %.3f nats a character\n", update, loss / characters);
      loss = characters = 0;
    }
  }
}

int run(int argc, char** argv) {
  const int updates = argc > 1 ? std::atoi(argv[1]) : 600;
  require(updates > 50, "expected more than 50 updates, got '", argv[1], "'");
  const std::string text = read_text(argc, argv);
  const std::set<char> characters(text.begin(), text.end());
  const std::string alphabet(characters.begin(), characters.end());

  EncoderOnly model(configure(int64_t(alphabet.size())));
  model.parameters().allocate(/*seed=*/1);
  train(model, text, alphabet, updates);
  std::printf("\n%s\n", continue_text(model, text.substr(0, text.find(' ')), alphabet, 400).c_str());
  return 0;
}

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "char_lm: %s\n", error.what());
    return 1;
  }
}
