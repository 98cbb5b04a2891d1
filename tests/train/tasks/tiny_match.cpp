#include "tests/train/tasks/tiny_match.h"

#include "gyre/core/random.h"
#include "tests/train/tasks/tiny_language.h"
#include "tests/train/tiny_run.h"

namespace gyre::test {
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
  write_tiny_documents(directory);  // for the vocabulary
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

}  // namespace gyre::test
