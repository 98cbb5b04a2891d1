#include "train/nmt_data.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "core/counted.h"
#include "core/error.h"
#include "data/build_store.h"
#include "data/parallel_text.h"
#include "train/pair_input.h"

namespace gyre {
namespace {

TokenStore open_training_data(const NmtOptions& options, const Vocabulary& vocabulary) {
  Corpus corpus =
      open_corpus(vocabulary, options.train_sets,
                  {.on_bad_line = parse_on_bad_line(options.on_bad_line), .max_length = options.max_length});
  if (corpus.report) spdlog::info("{}", corpus.report->describe());
  require(corpus.store.sides() == 2, "[data] ", corpus.store.name(), ": expected sentence pairs, got single sentences");
  return std::move(corpus.store);
}

ValidationSet from_store(const NmtOptions& options, const Vocabulary& vocabulary, int64_t longest) {
  const TokenStore store = open_corpus(vocabulary, options.valid_sets, {}).store;
  require(store.sides() == 2, "[data] ", store.name(), ": expected sentence pairs, got single sentences");
  ValidationSet set;
  for (size_t i = 0; i < store.size(); ++i) {
    if (int64_t(std::max(store.length(i, 0), store.length(i, 1))) >= longest) continue;  // no room for EOS
    set.sources.push_back(store.sentence(i, 0));
    set.targets.push_back(store.sentence(i, 1));
    set.references.push_back(vocabulary.decode(set.targets.back()));
  }
  spdlog::info("{}: {} of {} to validate on", store.name(), set.size(), counted(store.size(), "pair"));
  return set;
}

ValidationSet from_text(const NmtOptions& options, const Vocabulary& vocabulary, int64_t longest) {
  const OnBadLine policy = parse_on_bad_line(options.on_bad_line);
  ParallelText text(options.valid_sets, policy);
  ValidationSet set;
  for (TextRow row; text.next(row);) {
    std::vector<int32_t> source = vocabulary.encode(row.text[0]), target = vocabulary.encode(row.text[1]);
    if (int64_t(std::max(source.size(), target.size())) >= longest) {
      text.report().skip(BadLine::too_long, row.line, text.place(row));
      continue;
    }
    ++text.report().kept;
    set.sources.push_back(std::move(source));
    set.targets.push_back(std::move(target));
    set.references.emplace_back(row.text[1]);
  }
  text.report().limit = concat(longest, " tokens");
  text.report().require_clean(policy);
  spdlog::info("{}", text.report().describe());
  return set;
}

}  // namespace

NmtData::NmtData(const NmtOptions& options, const Vocabulary& vocabulary, int shards)
    : store_(open_training_data(options, vocabulary)), batches_(store_, options, shards, options.max_length) {
  const EpochPlan& plan = batches_.plan();
  if (plan.left_out() > 0) {
    spdlog::info("{}: {} of {} left out: longer than {}", store_.name(), plan.left_out(),
                 counted(store_.size(), "pair"), counted(options.max_length, "token"));
  }
  require(plan.size() > 0, "[data] ", store_.name(), ": no sentence pair is left to train on");
}

std::string NmtData::describe() const {
  return concat(counted(store_.size(), "pair"), ", ", store_.total_tokens(0), " source and ", store_.total_tokens(1),
                " target tokens");  // without EOS
}

RankBatch NmtData::batch(size_t i, ShardRange own) const {
  store_.require_whole();
  const std::span<const uint32_t> indices = batches_.plan().batch(i);
  RankBatch batch;
  batch.sentences = indices.size();
  for (uint32_t s : indices) {
    batch.source_tokens += store_.length(s, 0) + 1;
    batch.target_tokens += store_.length(s, 1) + 1;
  }
  batch.predictions = batch.target_tokens;
  const std::vector<std::vector<uint32_t>> shards = batches_.shards(indices);
  for (int s = own.begin; s < own.end; ++s) {
    PairInput input = pair_input(make_pair_batch(store_, shards[size_t(s)]));
    const auto tokens = uint64_t(input.target.tokens());
    batch.shards.push_back({std::move(input), tokens});
  }
  return batch;
}

ValidationSet read_validation_set(const NmtOptions& options, const Vocabulary& vocabulary, int64_t longest) {
  const bool is_store = options.valid_sets.size() == 1;
  ValidationSet set = is_store ? from_store(options, vocabulary, longest) : from_text(options, vocabulary, longest);
  require(set.size() > 0, "[data] ", options.valid_sets.front().string(), ": no sentence pair is left to validate on");
  return set;
}

}  // namespace gyre
