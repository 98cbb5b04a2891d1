#include "tests/train/tiny_nmt.h"

#include <algorithm>

#include "core/random.h"
#include "data/byte_vocabulary.h"
#include "train/log/metrics_log.h"

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

NmtOptions tiny_options(const Path& data, const Path& run) {
  NmtOptions o;
  o.train_sets = {data / "train.src", data / "train.tgt"};
  o.vocabulary = data / "vocab.bytes";
  o.model = run;
  o.batch_words = 50;
  o.maxi_batch = 4;
  o.optimizer.learning_rate = 0.01;
  o.optimizer.warmup = 5;
  o.display_every = Period::parse("1u");
  o.threads = 1;
  o.quiet = true;
  return o;
}

EncoderDecoderConfig tiny_config(double dropout) {
  EncoderDecoderConfig c;
  c.dim = 16;
  c.ffn = 32;
  c.heads = 2;
  c.encoder_layers = c.decoder_layers = 1;
  c.dropout = dropout;
  return c;
}

std::string last_bits(const Path& run) {
  const Path last = checkpoints_path(run) / "last";
  return read_file(last / "model.safetensors") + read_file(last / "optimizer.safetensors");
}

TrainState last_state(const Path& run) { return read_train_state(checkpoints_path(run) / "last"); }

std::string loss_curve(const Path& run) {
  std::string text;
  for (const auto& entry : read_metrics(run / "metrics.jsonl")) {
    if (entry["event"] == "train") text += entry["updates"].dump() + " " + entry["cross-entropy"].dump() + "\n";
  }
  return text;
}

}  // namespace gyre::test
