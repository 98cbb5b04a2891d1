#include "gyre/train/tasks/translation/nmt_validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <sstream>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/core/random.h"
#include "gyre/data/text/line_stream.h"
#include "gyre/train/log/stopwatch.h"
#include "gyre/train/metrics/bleu.h"
#include "gyre/train/metrics/chrf.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "gyre/train/tasks/translation/decoding.h"
#include "gyre/train/tasks/translation/pair_input.h"

namespace gyre {
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
    lines += one_line(vocabulary_.decode(best.front().ids)) + '\n';
  }
  return lines;
}

}  // namespace gyre
