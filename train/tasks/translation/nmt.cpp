#include "gyre/train/tasks/translation/nmt.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <utility>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/core/random.h"
#include "gyre/data/store/build_store.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/data/text/parallel_text.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/train/metrics/bleu.h"
#include "gyre/train/metrics/chrf.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "gyre/train/tasks/initial_weights.h"
#include "gyre/train/tasks/network_model.h"
#include "gyre/train/tasks/translation/decoding.h"

namespace gyre {

namespace {

TokenStore open_training_data(const NmtOptions& options, const Vocabulary& vocabulary) {
  Corpus corpus = open_corpus(vocabulary, options.data.train_sets,
                              {.on_bad_line = options.data.on_bad_line, .max_length = options.data.max_length});
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
    set.source_texts.push_back(vocabulary.side(0).decode(set.sources.back()));
    set.references.push_back(vocabulary.side(1).decode(set.targets.back()));
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
    std::vector<int32_t> source = vocabulary.side(0).encode(row.text[0]),
                         target = vocabulary.side(1).encode(row.text[1]);
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

std::array<std::shared_ptr<const BpeDropout>, 2> make_bpe_dropouts(const NmtOptions& options,
                                                                   const Vocabulary& vocabulary) {
  std::array<std::shared_ptr<const BpeDropout>, 2> dropouts;
  if (options.bpe_dropout == 0) return dropouts;
  for (int side = 0; side < 2; ++side) {
    const Vocabulary& own = vocabulary.side(side);
    const BpeDropoutSide other = side == 0 ? BpeDropoutSide::target : BpeDropoutSide::source;
    if (options.bpe_dropout_side == other) continue;
    const bool is_joint = side == 1 && &own == &vocabulary.side(0);
    if (is_joint) dropouts[1] = dropouts[0];
    if (dropouts[size_t(side)] == nullptr) dropouts[size_t(side)] = own.bpe_dropout();
    if (dropouts[size_t(side)] == nullptr)
      throw UsageError("[--bpe-dropout] expected a vocabulary with merges (bpe, subword-nmt), got one of kind ",
                       own.kind());
  }
  return dropouts;
}

NmtData::NmtData(const NmtOptions& options, const Vocabulary& vocabulary, LossFunction<PairInput> loss,
                 int micro_batches)
    : dropouts_(make_bpe_dropouts(options, vocabulary)),
      store_(open_training_data(options, vocabulary)),
      batches_(store_, options.batch, options.seed, micro_batches, options.data.max_length),
      loss_(std::move(loss)),
      drop_probability_(options.bpe_dropout),
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
  if (dropouts_[size_t(side)] == nullptr) return ids;
  const uint64_t stream = mix(mix(hash_name("BPE dropout"), batches_.epoch()), 2 * uint64_t(index) + uint64_t(side));
  MergeDrops drops(drop_probability_, seed_, stream);
  std::vector<int32_t> split = dropouts_[size_t(side)]->segment(ids, drops);
  return split.size() + 1 > size_t(max_length_) ? ids : split;
}

PairBatch NmtData::pairs(std::span<const uint32_t> indices) const {
  if (!drops()) return make_pair_batch(store_, indices);
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
    if (!drops()) {
      for (const uint32_t s : micro_batches[size_t(m)]) {
        batch.source_tokens += store_.length(s, 0) + 1;
        batch.target_tokens += store_.length(s, 1) + 1;
      }
      if (!is_own) continue;
    }
    const PairBatch packed = pairs(micro_batches[size_t(m)]);
    if (drops()) {
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
  NmtValidationSet set = has_store ? from_store(std::move(files), vocabulary, longest)
                                   : from_text(std::move(files), options.data.on_bad_line, vocabulary, longest);
  require(set.size() > 0, "[data] ", options.data.valid_sets.front().string(),
          ": no sentence pair is left to validate on");
  return set;
}

namespace {

constexpr size_t kTranslationSamples = 4;  // number in each entry of metrics.jsonl

std::vector<std::vector<size_t>> chunks_by_length(const NmtValidationSet& set, size_t sentences) {
  std::vector<size_t> order(set.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // The longest come first: the last chunks are cheap, so that the ranks finish together.
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return set.sources[a].size() > set.sources[b].size(); });
  std::vector<std::vector<size_t>> chunks;
  for (size_t at = 0; at < order.size(); at += sentences) {
    chunks.emplace_back(order.begin() + std::ptrdiff_t(at),
                        order.begin() + std::ptrdiff_t(std::min(at + sentences, order.size())));
  }
  return chunks;
}

// Packs the pairs at `indices` into an input of the model.
PairInput pack(const NmtValidationSet& set, const std::vector<size_t>& indices, const Vocabulary& vocabulary) {
  PairPacker packer(vocabulary.bos(), vocabulary.eos());
  for (size_t i : indices) packer.add(set.sources[i], set.targets[i]);
  return pair_input(packer.finish());
}

}  // namespace

NmtValidation::NmtValidation(NmtValidationSet set, const Vocabulary& vocabulary, const EncoderDecoder& model,
                             const JobContext& context, const NmtOptions& options)
    : set_(std::move(set)),
      chunks_(chunks_by_length(set_, options.validation.mini_batch)),
      vocabulary_(vocabulary),
      model_(model),
      kernels_(context.kernels),
      precision_(context.precision),
      ranks_(context.ranks),
      metrics_(options.validation.metrics) {
  decode_.beam_size = options.valid_beam;
  decode_.length_penalty = options.valid_length_penalty;
  decode_.precision = precision_;
  set_vocabulary(decode_, vocabulary);
}

bool NmtValidation::wants(const std::string& metric) const {
  return std::find(metrics_.begin(), metrics_.end(), metric) != metrics_.end();
}

ValidationBasis NmtValidation::basis() const {
  uint64_t checksum = 0;
  for (size_t i = 0; i < set_.size(); ++i) {
    for (const auto* ids : {&set_.sources[i], &set_.targets[i]})
      checksum = mix(checksum, crc32c(ids->data(), ids->size() * sizeof(int32_t)));
    checksum = mix(checksum, hash_name(set_.references[i]));
  }
  ValidationBasis basis{{"valid-sets", hexadecimal(checksum)}};
  if (translates()) {
    basis["valid-beam-size"] = std::to_string(decode_.beam_size);
    basis["valid-length-penalty"] = concat(decode_.length_penalty);
  }
  return basis;
}

ValidationResult NmtValidation::run() {
  const Stopwatch watch;
  ValidationResult result;
  result.loss = cross_entropy();
  result.metrics["cross-entropy"] = result.loss;
  result.metrics["perplexity"] = std::exp(result.loss);
  if (translates()) {
    const Lines hypotheses = translate();
    std::array<double, 2> scores{};
    if (ranks_.rank() == 0) {
      if (wants("bleu")) scores[0] = corpus_bleu(hypotheses, {set_.references}).score;
      if (wants("chrf")) scores[1] = corpus_chrf(hypotheses, {set_.references}).score;
      result.samples = first_samples(hypotheses);
    }
    ranks_.broadcast(std::span<double>(scores), 0);
    if (wants("bleu")) result.metrics["bleu"] = scores[0];
    if (wants("chrf")) result.metrics["chrf"] = scores[1];
  }
  result.seconds = watch.seconds();
  return result;
}

std::vector<ValidationSample> NmtValidation::first_samples(const Lines& hypotheses) const {
  std::vector<ValidationSample> samples;
  for (size_t i = 0; i < std::min(kTranslationSamples, hypotheses.size()); ++i)
    samples.push_back({.source = set_.source_texts[i], .reference = set_.references[i], .output = hypotheses[i]});
  return samples;
}

double NmtValidation::cross_entropy() {
  // One value per chunk, added in a fixed order, gives the same sum on any number of ranks.
  std::vector<double> sums(2 * chunks_.size());
  const std::span<double> nll(sums.data(), chunks_.size()), tokens(sums.data() + chunks_.size(), chunks_.size());
  for (size_t c = size_t(ranks_.rank()); c < chunks_.size(); c += size_t(ranks_.size())) {
    Tape tape(kernels_, {.record = false, .precision = precision_});
    const LossResult loss = model_.loss(tape, pack(set_, chunks_[c], vocabulary_), 0);
    nll[c] = loss.sums().nll;
    tokens[c] = double(loss.predictions);
  }
  ranks_.all_reduce(std::span<double>(sums));
  return tree_sum(nll) / tree_sum(tokens);
}

Lines NmtValidation::translate() {
  std::string own;
  for (size_t c = size_t(ranks_.rank()); c < chunks_.size(); c += size_t(ranks_.size())) own += translate_some(c);
  std::vector<std::istringstream> texts;
  for (std::string& text : ranks_.gather(own, 0)) texts.emplace_back(std::move(text));
  if (texts.empty()) return {};
  Lines lines(set_.size());
  for (size_t c = 0; c < chunks_.size(); ++c) {
    for (size_t i : chunks_[c]) std::getline(texts[c % texts.size()], lines[i]);
  }
  return lines;
}

std::string NmtValidation::translate_some(size_t chunk) const {
  std::vector<std::vector<int32_t>> sources;
  for (size_t i : chunks_[chunk]) {
    sources.push_back(set_.sources[i]);
    sources.back().push_back(vocabulary_.eos());
  }
  std::string lines;
  for (const std::vector<Hypothesis>& best : beam_search(model_, kernels_, sources, decode_)) {
    lines += one_line(vocabulary_.side(1).decode(best.front().ids)) + '\n';
  }
  return lines;
}

void set_vocabulary_sizes(EncoderDecoderConfig& config, const Vocabulary& vocabulary) {
  config.vocab_size = vocabulary.side(0).size();
  config.target_vocab_size = vocabulary.shares_ids() ? 0 : vocabulary.side(1).size();
  config.tied_embeddings = config.tied_embeddings && vocabulary.shares_ids();
}

namespace {

TaskParts make_parts(const NmtOptions& options, EncoderDecoderConfig config, const JobContext& context) {
  TaskParts parts;
  parts.vocabulary = load_training_vocabulary(options, options.tokenizer);
  const Vocabulary& vocabulary = *parts.vocabulary.vocabulary;
  set_vocabulary_sizes(config, vocabulary);
  auto model = std::make_unique<NetworkModel<EncoderDecoder>>(config);
  require_positions(options.data.max_length, model->network().longest());
  const auto loss = [&network = model->network(), &options](Tape& tape, const PairInput& input) {
    return options.r_drop > 0 ? network.r_drop_loss(tape, input, options.label_smoothing, options.r_drop)
                              : network.loss(tape, input, options.label_smoothing);
  };
  parts.data = std::make_unique<NmtData>(options, vocabulary, loss, context.micro_batches);
  parts.lora = model->allocate(options, {options.pretrained_model, options.lora, false}, vocabulary, context);
  parts.make_validation = [&options, context, &vocabulary, &network = model->network()] {
    return std::make_unique<NmtValidation>(read_validation_set(options, vocabulary, network.longest()), vocabulary,
                                           network, context, options);
  };
  parts.model = std::move(model);
  return parts;
}

}  // namespace

std::optional<ReplayResult> train_nmt(const Resolved<NmtOptions>& options, const EncoderDecoderConfig& config,
                                      Communicator& ranks) {
  return run_job(*options, ranks, [&](const JobContext& context) { return make_parts(*options, config, context); });
}

}  // namespace gyre
