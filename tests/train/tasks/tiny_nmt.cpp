#include "tests/train/tasks/tiny_nmt.h"

#include <algorithm>

#include "gyre/core/random.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/subword_nmt/subword_nmt_training.h"
#include "gyre/train/tasks/translation/nmt.h"

namespace gyre::test {
namespace {

void write_pairs(const Path& directory, const std::string& name, int pairs, uint64_t seed) {
  RandomStream random(seed, hash_name(name));
  std::string source, target;
  for (int i = 0; i < pairs; ++i) {
    std::string word;
    for (uint64_t left = 1 + random.below(9); left > 0; --left) word += char('a' + random.below(5));
    source += word + "\n";
    std::reverse(word.begin(), word.end());
    target += word + "\n";
  }
  write_file(directory / (name + ".src"), source);
  write_file(directory / (name + ".tgt"), target);
}

}  // namespace

void write_tiny_corpus(const Path& directory) {
  std::filesystem::create_directories(directory);
  write_pairs(directory, "train", 90, 1);
  write_pairs(directory, "valid", 9, 2);
  ByteVocabulary().save(directory / "vocab.bytes");
}

void write_tiny_merges(const Path& directory) {
  train_subword_nmt({directory / "train.src", directory / "train.tgt"}, {.merges = 20}, directory / "vocab.merges", "");
}

NmtOptions tiny_options(const Path& data, const Path& run) {
  NmtOptions o;
  set_tiny_run(o, run);
  o.data.train_sets = {data / "train.src", data / "train.tgt"};
  o.data.vocabulary = data / "vocab.bytes";
  o.batch.size = 50;
  o.batch.maxi_batch = 4;
  return o;
}

EncoderDecoderConfig tiny_nmt_config(double dropout) {
  EncoderDecoderConfig c;
  set_tiny_layers(c, dropout);
  c.encoder_layers = c.decoder_layers = 1;
  return c;
}

void train(const NmtOptions& options, const EncoderDecoderConfig& config) {
  SelfCommunicator self;
  train_nmt(options, config, self);
}

}  // namespace gyre::test
