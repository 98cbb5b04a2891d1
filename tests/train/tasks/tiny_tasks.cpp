#include "tests/train/tasks/tiny_tasks.h"

#include <algorithm>

#include "gyre/core/random.h"
#include "gyre/data/tokenizer/byte_vocabulary.h"
#include "gyre/data/tokenizer/subword_nmt/subword_nmt_training.h"
#include "gyre/train/tasks/classification/classify.h"
#include "gyre/train/tasks/language/language.h"
#include "gyre/train/tasks/matching/match.h"
#include "gyre/train/tasks/translation/nmt.h"
#include "tests/train/tiny_run.h"

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

void train(const MaskedOptions& options, const EncoderOnlyConfig& config) {
  SelfCommunicator self;
  train_masked_language(options, config, self);
}

void train_causal(const LanguageOptions& options, EncoderOnlyConfig config) {
  SelfCommunicator self;
  config.causal = true;
  train_causal_language(options, config, self);
}

namespace {

constexpr uint64_t kFirstLetters = 10;

void write_rows(const Path& file, int rows) {
  RandomStream random(1, hash_name(file.filename().string()));
  std::string text = "id\tsentence\tlabel\tscore\n";
  for (int i = 0; i < rows; ++i) {
    const uint64_t first = random.below(kFirstLetters), letters = 3 + random.below(6);
    text += concat(i, '\t');
    for (uint64_t k = 0; k < letters; ++k) text += concat(k > 0 ? " " : "", char('a' + first + k));
    text += concat('\t', first < kFirstLetters / 2 ? "early" : "late", '\t', double(first) / 4, '\n');
  }
  write_file(file, text);
}

}  // namespace

void write_tiny_labeled(const Path& directory) {
  write_tiny_documents(directory);  // the text that the vocabulary is made of
  write_rows(directory / "train.tsv", 60);
  write_rows(directory / "dev.tsv", 15);
}

ClassifyOptions tiny_classify_options(const Path& data, const Path& run) {
  ClassifyOptions o;
  set_tiny_run(o, run);
  o.data.train_sets = {data / "train.tsv"};
  o.data.vocabulary = data / "vocab.txt";
  o.format = {true, Column{"sentence", 1}, {}, Column{"label", 2}, {"early", "late"}};
  o.validation.metrics = {"accuracy", "f1", "matthews"};
  o.data.max_length = 8;
  o.batch.size = 5;
  o.optimizer.schedule.kind = "constant";
  o.optimizer.schedule.warmup_percent = 0;
  o.validation.mini_batch = 4;
  return o;
}

ClassifyOptions tiny_regress_options(const Path& data, const Path& run) {
  ClassifyOptions o = tiny_classify_options(data, run);
  o.format.label = Column{"score", 3};
  o.format.classes.clear();
  o.validation.metrics = {"spearman", "pearson"};
  return o;
}

namespace {

// A text of letters a to g, or of letters j to p.
std::string letters(RandomStream& random, bool second_half) {
  const uint64_t first = random.below(3) + (second_half ? 9 : 0), count = 2 + random.below(4);
  std::string text;
  for (uint64_t k = 0; k < count; ++k) text += concat(k > 0 ? " " : "", char('a' + first + k));
  return text;
}

void write_triplets(const Path& directory, const std::string& name, int triplets) {
  RandomStream random(1, hash_name(name));
  std::string objects, table = "label\tA\tB\tC\n";
  for (int i = 0; i < triplets; ++i) {
    const bool half = random.below(2) == 1, c_is_nearer = random.below(2) == 1;
    const std::string a = letters(random, half), b = letters(random, half != c_is_nearer),
                      c = letters(random, half == c_is_nearer);
    const char* label = c_is_nearer ? "C" : "B";
    objects += concat(R"({"A": ")", a, R"(", "B": ")", b, R"(", "C": ")", c, R"(", "label": ")", label, "\"}\n");
    table += concat(label, '\t', a, '\t', b, '\t', c, '\n');
  }
  write_file(directory / (name + ".jsonl"), objects);
  write_file(directory / (name + ".tsv"), table);
}

}  // namespace

void write_tiny_triplets(const Path& directory) {
  write_tiny_documents(directory);  // the text that the vocabulary is made of
  write_triplets(directory, "train", 60);
  write_triplets(directory, "dev", 20);
}

MatchOptions tiny_match_options(const Path& data, const Path& run) {
  MatchOptions o;
  set_tiny_run(o, run);
  o.data.train_sets = {data / "train.jsonl"};
  o.data.vocabulary = data / "vocab.txt";
  o.data.max_length = 16;
  o.optimizer.schedule.warmup = 0;
  o.validation.mini_batch = 3;
  return o;
}

void train(const ClassifyOptions& options, const EncoderOnlyConfig& config) {
  SelfCommunicator self;
  train_classify(options, config, self);
}

void train(const MatchOptions& options, const EncoderOnlyConfig& config) {
  SelfCommunicator self;
  train_match(options, config, self);
}

}  // namespace gyre::test
