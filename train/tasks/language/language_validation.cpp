#include "gyre/train/tasks/language/language_validation.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"
#include "gyre/train/log/stopwatch.h"
#include "gyre/train/parallel/tree_reduction.h"

namespace gyre {
namespace {

// Chooses at most `most` evenly spaced samples (0: all), in chunks.
std::vector<std::vector<uint32_t>> choose_chunks(const DocumentSamples& samples, uint64_t most, size_t chunk) {
  const uint64_t count = most == 0 ? samples.size() : std::min<uint64_t>(most, samples.size());
  std::vector<std::vector<uint32_t>> chunks;
  for (uint64_t i = 0; i < count; ++i) {
    if (i % chunk == 0) chunks.emplace_back();
    chunks.back().push_back(uint32_t(i * samples.size() / count));
  }
  return chunks;
}

}  // namespace

LanguageValidation::LanguageValidation(SharedSamples samples, MakeInput make_input, const LanguageOptions& options,
                                       const EncoderOnly& model, const JobContext& context)
    : samples_(std::move(samples)),
      make_input_(std::move(make_input)),
      chunks_(choose_chunks(*samples_, options.validation_samples, options.validation.mini_batch)),
      model_(model),
      kernels_(context.kernels),
      precision_(context.precision),
      ranks_(context.ranks) {
  spdlog::info("{}: {} of {} to validate on", samples_->store().name(), counted(samples_->size(), "sample"),
               counted(samples_->documents(), "document"));
  // The masks are the same in every validation.
  const auto predicts = [&](const std::vector<uint32_t>& chunk) {
    return make_input_(*samples_, chunk, 0).targets.size() > 0;
  };
  require(std::any_of(chunks_.begin(), chunks_.end(), predicts), "[validation] ", samples_->store().name(),
          ": expected tokens to predict, but no token is masked; use more validation data or a higher --mask-share");
}

ValidationResult LanguageValidation::run() {
  const Stopwatch watch;
  // One value per chunk, added in a fixed order, gives the same sums on any number of ranks.
  const size_t n = chunks_.size();
  std::vector<double> sums(3 * n);
  const std::span<double> nll(sums.data(), n), correct(sums.data() + n, n), tokens(sums.data() + 2 * n, n);
  for (size_t c = size_t(ranks_.rank()); c < n; c += size_t(ranks_.size())) {
    const MaskedInput input = make_input_(*samples_, chunks_[c], 0);
    if (input.targets.size() == 0) continue;
    Tape tape(kernels_, {.record = false, .precision = precision_});
    const CrossEntropySums loss = model_.loss(tape, input).sums();
    nll[c] = loss.nll;
    correct[c] = double(loss.correct);
    tokens[c] = double(loss.tokens);
  }
  ranks_.all_reduce(std::span<double>(sums));
  const double predicted = tree_sum(tokens);
  ValidationResult result;
  result.loss = tree_sum(nll) / predicted;
  result.metrics = {{"cross-entropy", result.loss},
                    {"perplexity", std::exp(result.loss)},
                    {"accuracy", tree_sum(correct) / predicted}};
  result.seconds = watch.seconds();
  return result;
}

}  // namespace gyre
