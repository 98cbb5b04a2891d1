#include "tests/train/tasks/tiny_classify.h"

#include "gyre/core/random.h"
#include "tests/train/tasks/tiny_language.h"
#include "tests/train/tiny_run.h"

namespace gyre::test {
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
  write_tiny_documents(directory);  // for the vocabulary
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

}  // namespace gyre::test
