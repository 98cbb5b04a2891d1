#include "gyre/train/analysis/language_score.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/data/batch/document_batch.h"
#include "gyre/train/tasks/to_tensor.h"

namespace gyre {
namespace {

class Scorer {
 public:
  Scorer(const EncoderOnly& model, Kernels& kernels, const TokenStore& store, const ScoreOptions& options)
      : model_(model),
        kernels_(kernels),
        store_(store),
        options_(options),
        packed_(options.precision == Precision::int8 ? packed_weights_for(kernels, options.precision) : nullptr) {}

  // Scores tokens of one document; `ends`: also its </s>.
  void add(TokenRange tokens, bool ends) {
    const auto [begin, end] = tokens;
    const uint64_t length = uint64_t(options_.max_length), context = uint64_t(options_.context);
    const uint64_t count = end - begin + (ends ? 1 : 0);
    std::vector<int32_t> targets;  // targets of one window only: a document may be as long as its file
    for (uint64_t first = 0, scored = 0; scored < count; first += length - context) {
      const uint64_t last = std::min(first + length, count);
      targets.clear();
      store_.append_tokens(begin + first, std::min(begin + last, end), targets);
      if (ends && last == count) targets.push_back(store_.eos());
      add_window(targets, scored - first, first == 0 && begin < end && targets.front() == store_.bos());
      scored = last;
    }
    ++score_.documents;
  }

  LanguageScore finish() {
    run();
    return score_;
  }

 private:
  // A document that begins with BOS gets no second one. `context`: tokens that an earlier window has scored.
  void add_window(std::span<const int32_t> tokens, size_t context, bool begins_with_bos) {
    const bool has_bos = options_.bos && !begins_with_bos;
    const int32_t first = has_bos ? store_.bos() : tokens.front();
    const std::span<const int32_t> targets = has_bos ? tokens : tokens.subspan(1);
    if (!has_bos && context > 0) --context;
    if (targets.empty()) return;
    if (!inputs_.empty() && int64_t(inputs_.size() + targets.size()) > options_.batch_rows) run();
    for (size_t i = context; i < targets.size(); ++i) {
      rows_.push_back(int32_t(inputs_.size() + i));
      targets_.push_back(targets[i]);
    }
    append_next_token_inputs(inputs_, first, targets);
    lengths_.push_back(int32_t(targets.size()));
  }

  void run() {
    if (inputs_.empty()) return;
    Tape tape(kernels_, {.record = false, .precision = options_.precision, .packed = packed_.get()});
    const CrossEntropySums sums =
        model_.loss(tape, {to_tensor(inputs_), Segments::from_lengths(lengths_), to_tensor(rows_), to_tensor(targets_)})
            .sums();
    score_.nll += sums.nll;
    score_.tokens += uint64_t(sums.tokens);
    score_.correct += uint64_t(sums.correct);
    if (options_.on_tokens) options_.on_tokens(score_.tokens);
    for (auto* values : {&inputs_, &lengths_, &rows_, &targets_}) values->clear();
  }

  const EncoderOnly& model_;
  Kernels& kernels_;
  const TokenStore& store_;
  ScoreOptions options_;
  std::shared_ptr<PackedWeights> packed_;                   // null unless the precision is int8
  std::vector<int32_t> inputs_, lengths_, rows_, targets_;  // rows of the current batch
  LanguageScore score_;
};

}  // namespace

LanguageScore score_documents(const EncoderOnly& model, Kernels& kernels, const StorePart& part,
                              const ScoreOptions& options) {
  const TokenStore& store = part.store();
  require(model.config().causal, "[perplexity] expected a causal language model, got a bidirectional one");
  require(options.max_length >= 1 && options.max_length <= model.longest(), "[perplexity] --max-length: expected 1 to ",
          model.longest(), ", the number of positions of the model, got ", options.max_length);
  require(options.context >= 0 && options.context < options.max_length,
          "[perplexity] --context-window: expected at least 0 and less than --max-length ", options.max_length,
          ", got ", options.context);
  Scorer scorer(model, kernels, store, options);
  const uint64_t documents = part.for_each_document([&](TokenRange tokens, bool ends) { scorer.add(tokens, ends); });
  LanguageScore score = scorer.finish();
  require(std::isfinite(score.nll), "[perplexity] expected a finite loss, got ", score.nll,
          ": the model's weights or activations are not finite");
  require(score.documents > 0, "[perplexity] ", store.name(), ": none of its ", documents,
          " documents is held out with a validation share of ", part.validation_share());
  return score;
}

}  // namespace gyre
