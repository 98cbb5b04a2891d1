#include "gyre/train/tasks/translation/nmt_data.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/core/random.h"
#include "gyre/data/store/build_store.h"
#include "gyre/data/text/parallel_text.h"
#include "gyre/train/tasks/translation/pair_input.h"

namespace gyre {
namespace {

TokenStore open_training_data(const NmtOptions& options, const Vocabulary& vocabulary) {
  Corpus corpus =
      open_corpus(vocabulary, options.data.train_sets,
                  {.on_bad_line = parse_on_bad_line(options.data.on_bad_line), .max_length = options.data.max_length});
  if (corpus.report) spdlog::info("{}", corpus.report->describe());
  require(corpus.store.sides() == 2, "[data] ", corpus.store.name(), ": expected sentence pairs, got single sentences");
  return std::move(corpus.store);
}

NmtValidationSet from_store(TextInputs files, const Vocabulary& vocabulary, int64_t longest) {
  const TokenStore store = open_corpus(vocabulary, std::move(files), {}).store;
  require(store.sides() == 2, "[data] ", store.name(), ": expected sentence pairs, got single sentences");
  NmtValidationSet set;
  for (size_t i = 0; i < store.size(); ++i) {
    if (int64_t(std::max(store.length(i, 0), store.length(i, 1))) >= longest) continue;  // no room for EOS
    set.sources.push_back(store.sentence(i, 0));
    set.targets.push_back(store.sentence(i, 1));
    set.source_texts.push_back(vocabulary.decode(set.sources.back()));
    set.references.push_back(vocabulary.decode(set.targets.back()));
  }
  spdlog::info("{}: {} of {} to validate on", store.name(), set.size(), counted(store.size(), "pair"));
  return set;
}

NmtValidationSet from_text(TextInputs files, OnBadLine policy, const Vocabulary& vocabulary, int64_t longest) {
  ParallelText text(std::move(files), policy);
  require(text.sides() == 2, "[data] ", text.inputs().front().name(),
          ": expected sentence pairs, got single sentences");
  NmtValidationSet set;
  for (TextRow row; text.next(row);) {
    std::vector<int32_t> source = vocabulary.encode(row.text[0]), target = vocabulary.encode(row.text[1]);
    if (int64_t(std::max(source.size(), target.size())) >= longest) {
      text.report().skip(BadLine::too_long, row.line, text.place(row));
      continue;
    }
    ++text.report().kept;
    set.sources.push_back(std::move(source));
    set.targets.push_back(std::move(target));
    set.source_texts.emplace_back(row.text[0]);
    set.references.emplace_back(row.text[1]);
  }
  text.report().limit = concat(longest, " tokens");
  text.report().require_clean(policy);
  spdlog::info("{}", text.report().describe());
  return set;
}

}  // namespace

std::unique_ptr<BpeDropout> make_bpe_dropout(const NmtOptions& options, const Vocabulary& vocabulary) {
  if (options.bpe_dropout == 0) return nullptr;
  auto dropout = vocabulary.bpe_dropout();
  if (dropout == nullptr)
    throw UsageError("[--bpe-dropout] expected a vocabulary with merges (bpe, subword-nmt), got one of kind ",
                     vocabulary.kind());
  return dropout;
}

NmtData::NmtData(const NmtOptions& options, const Vocabulary& vocabulary, LossFunction<PairInput> loss,
                 int micro_batches)
    : dropout_(make_bpe_dropout(options, vocabulary)),
      store_(open_training_data(options, vocabulary)),
      batches_(store_, options.batch, options.seed, micro_batches, options.data.max_length),
      loss_(std::move(loss)),
      drop_probability_(options.bpe_dropout),
      drops_side_{options.bpe_dropout_side != BpeDropoutSide::target,
                  options.bpe_dropout_side != BpeDropoutSide::source},
      seed_(options.seed),
      max_length_(options.data.max_length) {
  const EpochPlan& plan = batches_.plan();
  if (plan.skipped() > 0) {
    spdlog::info("{}: {} of {} left out: longer than {}", store_.name(), plan.skipped(), counted(store_.size(), "pair"),
                 counted(options.data.max_length, "token"));
  }
}

std::string NmtData::describe() const {
  return concat(counted(store_.size(), "pair"), ", ", store_.total_tokens(0), " source and ", store_.total_tokens(1),
                " target tokens");  // count without EOS
}

std::vector<int32_t> NmtData::sentence(uint32_t index, int side) const {
  std::vector<int32_t> ids = store_.sentence(index, side);
  if (dropout_ == nullptr || !drops_side_[size_t(side)]) return ids;
  const uint64_t stream = mix(mix(hash_name("BPE dropout"), batches_.epoch()), 2 * uint64_t(index) + uint64_t(side));
  MergeDrops drops(drop_probability_, seed_, stream);
  std::vector<int32_t> split = dropout_->segment(ids, drops);
  return split.size() + 1 > size_t(max_length_) ? ids : split;
}

PairBatch NmtData::pairs(std::span<const uint32_t> indices) const {
  if (dropout_ == nullptr) return make_pair_batch(store_, indices);
  PairPacker packer(store_.bos(), store_.eos());
  for (const uint32_t s : indices) packer.add(sentence(s, 0), sentence(s, 1));
  return packer.finish();
}

// The counts are those of the whole batch, so with BPE dropout every rank splits all its sentences.
RankBatch NmtData::batch(size_t i, MicroBatchRange own) const {
  store_.require_untruncated();
  const std::span<const uint32_t> indices = batches_.plan().batch(i);
  RankBatch batch;
  batch.sentences = indices.size();
  const std::vector<std::vector<uint32_t>> micro_batches = batches_.micro_batches(indices);
  for (int m = 0; m < int(micro_batches.size()); ++m) {
    const bool is_own = m >= own.begin && m < own.end;
    if (dropout_ == nullptr) {
      for (const uint32_t s : micro_batches[size_t(m)]) {
        batch.source_tokens += store_.length(s, 0) + 1;
        batch.target_tokens += store_.length(s, 1) + 1;
      }
      if (!is_own) continue;
    }
    const PairBatch packed = pairs(micro_batches[size_t(m)]);
    if (dropout_ != nullptr) {
      batch.source_tokens += packed.source_ids.size();
      batch.target_tokens += packed.target_outputs.size();
    }
    if (is_own)
      batch.micro_batches.push_back(make_micro_batch(loss_, pair_input(packed), packed.target_outputs.size()));
  }
  batch.predictions = batch.target_tokens;
  return batch;
}

NmtValidationSet read_validation_set(const NmtOptions& options, const Vocabulary& vocabulary, int64_t longest) {
  TextInputs files(options.data.valid_sets);
  const bool has_store =
      std::ranges::any_of(files, [](const TextInput& file) { return file.kind() == TextKind::token_store; });
  NmtValidationSet set =
      has_store ? from_store(std::move(files), vocabulary, longest)
                : from_text(std::move(files), parse_on_bad_line(options.data.on_bad_line), vocabulary, longest);
  require(set.size() > 0, "[data] ", options.data.valid_sets.front().string(),
          ": no sentence pair is left to validate on");
  return set;
}

}  // namespace gyre
