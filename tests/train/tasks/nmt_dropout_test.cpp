// BPE dropout in the training of translation models.
#include <doctest/doctest.h>

#include <algorithm>

#include "gyre/data/store/build_store.h"
#include "gyre/data/tokenizer/subword_nmt/subword_nmt_training.h"
#include "gyre/train/tasks/translation/nmt.h"
#include "tests/errors.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

struct DropoutTask : TemporaryDirectory {
  DropoutTask() {
    write_tiny_corpus(path());
    write_tiny_merges(path());
  }
  NmtOptions options(const std::string& run, double dropout) const {
    NmtOptions o = tiny_options(path(), *this / run);
    o.data.vocabulary = *this / "vocab.merges";
    o.bpe_dropout = dropout;
    o.stop.after = Period::parse("9u");
    return o;
  }
};

struct Counts {
  uint64_t source = 0, target = 0, predictions = 0;
  bool operator==(const Counts&) const = default;
};

// The counts of all batches of an epoch. Checks that every rank of `ranks` reports the same, and that the predictions
// of all micro-batches add up.
Counts counts_of_epoch(const NmtOptions& options, uint64_t epoch, int ranks) {
  constexpr int kMicroBatches = 4;
  const auto vocabulary = load_vocabulary(options.data.vocabulary);
  NmtData data(options, *vocabulary, nullptr, kMicroBatches);
  data.start_epoch(epoch, 0);
  Counts all;
  for (size_t i = 0; i < data.batches(); ++i) {
    uint64_t predictions = 0;
    Counts first;
    for (int rank = 0; rank < ranks; ++rank) {
      const int share = kMicroBatches / ranks;
      const RankBatch batch = data.batch(i, {rank * share, (rank + 1) * share});
      for (const MicroBatch& micro_batch : batch.micro_batches) predictions += micro_batch.predictions;
      const Counts counts{batch.source_tokens, batch.target_tokens, batch.predictions};
      if (rank == 0) first = counts;
      CHECK(counts == first);
    }
    CHECK(predictions == first.predictions);
    all.source += first.source;
    all.target += first.target;
    all.predictions += first.predictions;
  }
  return all;
}

TEST_CASE("BPE dropout: the counts of a batch are the same on any number of ranks, and change with epoch and side") {
  const DropoutTask task;
  NmtOptions options = task.options("run", 0.5);
  const Counts plain = counts_of_epoch(task.options("run", 0), 0, 1), one = counts_of_epoch(options, 0, 1);
  CHECK(counts_of_epoch(options, 0, 2) == one);
  CHECK(counts_of_epoch(options, 0, 4) == one);
  CHECK(one.source > plain.source);
  CHECK(one.target > plain.target);
  CHECK(one.predictions == one.target);
  const Counts next = counts_of_epoch(options, 1, 1);
  CHECK(next.source != one.source);
  CHECK(counts_of_epoch(options, 1, 2) == next);
  options.bpe_dropout_side = BpeDropoutSide::source;
  CHECK(counts_of_epoch(options, 0, 1) == Counts{one.source, plain.target, plain.target});
  options.bpe_dropout_side = BpeDropoutSide::target;
  CHECK(counts_of_epoch(options, 0, 1) == Counts{plain.source, one.target, one.target});
  options.bpe_dropout_side = BpeDropoutSide::both;
  options.seed = 2;
  CHECK(counts_of_epoch(options, 0, 1).source != one.source);
}

TEST_CASE("BPE dropout: sentences that would exceed --max-length keep their stored pieces") {
  const DropoutTask task;
  NmtOptions options = task.options("run", 1);
  const Counts characters = counts_of_epoch(options, 0, 1);
  CHECK(characters.source == read_file(task / "train.src").size());
  const auto vocabulary = load_vocabulary(options.data.vocabulary);
  const TokenStore store = open_corpus(*vocabulary, options.data.train_sets, {}).store;
  options.data.max_length = 8;
  uint64_t expected = 0;
  for (size_t i = 0; i < store.size(); ++i) {
    const size_t plain = store.length(i, 0) + 1, split = vocabulary->decode(store.sentence(i, 0)).size() + 1;
    if (std::max(plain, store.length(i, 1) + 1) <= 8) expected += split <= 8 ? split : plain;
  }
  CHECK(counts_of_epoch(options, 0, 1).source == expected);
}

TEST_CASE("BPE dropout: a resumed run, and a run from a token store, have the same bits") {
  const DropoutTask task;
  const NmtOptions straight = task.options("straight", 0.3);
  check_resumed(straight, {"4u", "9u"}, [](const NmtOptions& o) { train(o); });
  NmtOptions stored = task.options("stored", 0.3);
  build_token_store(*load_vocabulary(straight.data.vocabulary), straight.data.train_sets, task / "train.tok", {});
  stored.data.train_sets = {task / "train.tok"};
  train(stored);
  CHECK(last_bits(task / "stored") == last_bits(task / "straight"));
  train(task.options("plain", 0));
  CHECK(last_bits(task / "plain") != last_bits(task / "straight"));
}

TEST_CASE("BPE dropout: a vocabulary without merges is an error") {
  const DropoutTask task;
  NmtOptions options = task.options("run", 0.1);
  options.data.vocabulary = task / "vocab.bytes";
  CHECK(error_of([&] { train(options); }) ==
        "[--bpe-dropout] expected a vocabulary with merges (bpe, subword-nmt), got one of kind bytes");
  CHECK(!std::filesystem::exists(task / "run"));
}

}  // namespace
}  // namespace gyre::test
