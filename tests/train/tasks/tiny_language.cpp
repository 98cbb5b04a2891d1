#include "tests/train/tasks/tiny_language.h"

#include "gyre/core/random.h"
#include "gyre/train/tasks/language/language.h"

namespace gyre::test {
namespace {

constexpr uint64_t kLetters = 18;

std::string sentence(RandomStream& random) {
  std::string text;
  for (uint64_t left = 4 + random.below(6), letter = random.below(10); left > 0; --left, ++letter) {
    text += char('a' + letter);
    text += left > 1 ? " " : "\n";
  }
  return text;
}

void write_documents(const Path& file, int documents) {
  RandomStream random(1, hash_name(file.filename().string()));
  std::string text;
  for (int i = 0; i < documents; ++i) {
    for (int k = 0; k < 5; ++k) text += sentence(random);
    text += "\n";
  }
  write_file(file, text);
}

}  // namespace

void write_tiny_documents(const Path& directory) {
  std::filesystem::create_directories(directory);
  write_documents(directory / "train.txt", 10);
  write_documents(directory / "valid.txt", 4);
  std::string pieces = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (uint64_t i = 0; i < kLetters; ++i) (pieces += char('a' + i)) += '\n';
  write_file(directory / "vocab.txt", pieces);
}

MaskedOptions tiny_masked_options(const Path& data, const Path& run) {
  MaskedOptions o;
  set_tiny_run(o, run);
  o.data.train_sets = {data / "train.txt"};
  o.data.vocabulary = data / "vocab.txt";
  o.fill = SampleOptions::Fill::segment;
  o.data.max_length = 16;
  o.batch.size = 5;
  o.batch.unit = BatchUnit::sentences;
  return o;
}

EncoderOnlyConfig tiny_encoder_config(double dropout) {
  EncoderOnlyConfig c;
  set_tiny_layers(c, dropout);
  c.layers = 1;
  return c;
}

void train(const MaskedOptions& options, double dropout) {
  SelfCommunicator self;
  train_masked_language(options, tiny_encoder_config(dropout), self);
}

void train_causal(const LanguageOptions& options, double dropout) {
  SelfCommunicator self;
  EncoderOnlyConfig config = tiny_encoder_config(dropout);
  config.causal = true;
  train_causal_language(options, config, self);
}

}  // namespace gyre::test
