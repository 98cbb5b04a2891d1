#include "gyre/train/tasks/language/language_validation.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"
#include "gyre/core/hexadecimal.h"
#include "gyre/train/log/stopwatch.h"
#include "gyre/train/parallel/tree_reduction.h"

namespace gyre {
namespace {

// Bytes of the text that `predicted` of the set's tokens stand for.
double bytes_of(const LanguageValidationSet& set, double predicted) {
  uint64_t rows = 0;  // a causal model predicts every row
  for (size_t i = 0; i < set.samples->size(); ++i) rows += uint64_t(set.samples->rows(i));
  return double(set.bytes) * predicted / double(rows);
}

double bits_per_byte(double nll, double bytes) { return nll / std::numbers::ln2 / bytes; }

}  // namespace

LanguageValidation::LanguageValidation(std::vector<LanguageValidationSet> sets, MakeInput make_input,
                                       const LanguageOptions& options, const Vocabulary& vocabulary,
                                       const EncoderOnly& model, const JobContext& context)
    : sets_(std::move(sets)),
      make_input_(std::move(make_input)),
      samples_(*sets_.front().samples, make_input_, vocabulary, model, context),
      model_(model),
      kernels_(context.kernels),
      precision_(context.precision),
      ranks_(context.ranks) {
  for (const LanguageValidationSet& set : sets_) add_chunks(set, options);
}

// Chooses evenly spaced samples.
void LanguageValidation::add_chunks(const LanguageValidationSet& set, const LanguageOptions& options) {
  const DocumentSamples& samples = *set.samples;
  spdlog::info("{}: {} of {} to validate on", samples.store().name(), counted(samples.size(), "sample"),
               counted(samples.documents(), "document"));
  const uint64_t most = options.validation_samples;
  const uint64_t count = most == 0 ? samples.size() : std::min<uint64_t>(most, samples.size());
  const size_t first = chunks_.size();
  for (uint64_t i = 0; i < count; ++i) {
    if (i % options.validation.mini_batch == 0) chunks_.push_back({&samples, {}});
    chunks_.back().indices.push_back(uint32_t(i * samples.size() / count));
  }
  ends_.push_back(chunks_.size());
  // The masks are the same in every validation.
  const auto predicts = [&](const Chunk& chunk) { return make_input_(samples, chunk.indices, 0).targets.size() > 0; };
  require(std::any_of(chunks_.begin() + ptrdiff_t(first), chunks_.end(), predicts), "[validation] ",
          samples.store().name(),
          ": expected tokens to predict, but no token is masked; use more validation data or a higher --mask-share");
}

// One value per chunk, added in a fixed order, gives the same sums on any number of ranks.
LanguageValidation::Sums LanguageValidation::sums() const {
  const size_t n = chunks_.size();
  std::vector<double> all(3 * n);
  for (size_t c = size_t(ranks_.rank()); c < n; c += size_t(ranks_.size())) {
    const MaskedInput input = make_input_(*chunks_[c].samples, chunks_[c].indices, 0);
    if (input.targets.size() == 0) continue;
    Tape tape(kernels_, {.record = false, .precision = precision_});
    const CrossEntropySums loss = model_.loss(tape, input).sums();
    all[c] = loss.nll;
    all[n + c] = double(loss.correct);
    all[2 * n + c] = double(loss.tokens);
  }
  ranks_.all_reduce(std::span<double>(all));
  const auto third = [&](size_t i) {
    return std::vector<double>(all.begin() + ptrdiff_t(i * n), all.begin() + ptrdiff_t((i + 1) * n));
  };
  return {third(0), third(1), third(2)};
}

ValidationBasis LanguageValidation::basis() const {
  std::vector<std::string> checksums;  // sorted, because the metrics do not depend on the order of the sets
  size_t samples = 0;
  uint64_t bytes = 0;
  for (const LanguageValidationSet& set : sets_) {
    checksums.push_back(hexadecimal(set.samples->store().checksum()));
    bytes += set.bytes;
  }
  for (const Chunk& chunk : chunks_) samples += chunk.indices.size();
  std::sort(checksums.begin(), checksums.end());
  std::string all;
  for (const std::string& checksum : checksums) all += concat(all.empty() ? "" : " ", checksum);
  ValidationBasis basis{{"valid-sets", std::move(all)}, {"valid-samples", std::to_string(samples)}};
  if (bytes > 0) basis["bytes of valid-sets"] = std::to_string(bytes);
  return basis;
}

ValidationResult LanguageValidation::run() {
  const Stopwatch watch;
  const Sums all = sums();
  const double nll = tree_sum(all.nll), predicted = tree_sum(all.tokens);
  ValidationResult result;
  result.loss = nll / predicted;
  result.metrics = {{"cross-entropy", result.loss},
                    {"perplexity", std::exp(result.loss)},
                    {"accuracy", tree_sum(all.correct) / predicted}};
  double bytes = 0;
  for (size_t i = 0, begin = 0; i < sets_.size(); begin = ends_[i++]) {
    const auto sum_of_set = [&](const std::vector<double>& sums) {
      return tree_sum(std::span(sums).subspan(begin, ends_[i] - begin));
    };
    const double nll_of_set = sum_of_set(all.nll), tokens = sum_of_set(all.tokens);
    const double bytes_of_set = bytes_of(sets_[i], tokens);
    bytes += bytes_of_set;
    if (sets_.size() == 1) continue;
    result.metrics["cross-entropy/" + sets_[i].name] = nll_of_set / tokens;
    if (bytes_of_set > 0) result.metrics["bits-per-byte/" + sets_[i].name] = bits_per_byte(nll_of_set, bytes_of_set);
  }
  if (bytes > 0) result.metrics["bits-per-byte"] = bits_per_byte(nll, bytes);
  // A diverged model has no most likely tokens.
  if (ranks_.rank() == 0 && std::isfinite(result.loss)) result.samples = samples_.run();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace gyre
