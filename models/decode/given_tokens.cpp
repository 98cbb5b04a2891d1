#include "gyre/models/decode/given_tokens.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/models/decode/generate.h"

namespace gyre {

std::vector<float> log_probs_of(Kernels& kernels, const Tensor& log_probs, std::span<const int32_t> ids) {
  const auto count = int64_t(ids.size()), vocab = log_probs.cols();
  const Tensor chosen = Tensor::empty({count, 1}, DType::f32, kernels.device());
  const Tensor places = Tensor::empty({count}, DType::i32);  // places of the entries in the flat log_probs
  for (int64_t i = 0; i < count; ++i) places.data<int32_t>()[i] = int32_t(i * vocab) + ids[size_t(i)];
  kernels.embedding(chosen, log_probs.reshape({count * vocab, 1}), places, 1);
  return chosen.to_cpu().to_vector<float>();
}

double ContinuationScore::log_probability() const { return std::accumulate(log_probs.begin(), log_probs.end(), 0.0); }

namespace {

// The tokens that a model reads to score continuations: a context and all but the last of the tokens that follow.
// Continuations that differ in their last token share a row.
struct ScoredRow {
  const GivenContinuation* first;
  std::vector<size_t> continuations;  // indices

  const std::vector<int32_t>& context() const { return first->context; }
  size_t head() const { return context().size() - 1; }  // the number of tokens whose next ones are not scored
  size_t tail() const { return first->ids.size(); }     // the number of the others
  std::vector<int32_t> tokens() const {
    std::vector<int32_t> all = context();
    all.insert(all.end(), first->ids.begin(), first->ids.end() - 1);
    return all;
  }
  bool has_context_of(const ScoredRow& other) const { return context() == other.context(); }
};

// Rows of equal contexts are neighbors, and contexts that begin alike are near each other.
std::vector<ScoredRow> rows_of(const std::vector<GivenContinuation>& continuations) {
  std::vector<size_t> order(continuations.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const GivenContinuation &x = continuations[a], &y = continuations[b];
    return std::tie(x.context, x.ids) < std::tie(y.context, y.ids);
  });
  std::vector<ScoredRow> rows;
  const auto reads_same = [](const GivenContinuation& a, const GivenContinuation& b) {
    return a.context == b.context && std::equal(a.ids.begin(), a.ids.end() - 1, b.ids.begin(), b.ids.end() - 1);
  };
  for (const size_t i : order) {
    const GivenContinuation& given = continuations[i];
    if (rows.empty() || !reads_same(*rows.back().first, given)) rows.push_back({&given, {}});
    rows.back().continuations.push_back(i);
  }
  return rows;
}

// Batches of neighbors, which end with the last row of a context if its rows fit into one batch.
std::vector<std::span<const ScoredRow>> batches_of(const std::vector<ScoredRow>& rows, int64_t batch_tokens) {
  std::vector<std::span<const ScoredRow>> batches;
  size_t begin = 0;  // first row of the current batch
  int64_t tokens = 0;
  const auto flush = [&](size_t end) {
    if (end > begin) batches.emplace_back(&rows[begin], end - begin);
    begin = end;
    tokens = 0;
  };
  for (size_t first = 0, end = 0; first < rows.size(); first = end) {
    int64_t all = 0;  // tokens of the rows of a context
    for (end = first; end < rows.size() && rows[end].has_context_of(rows[first]); ++end)
      all += int64_t(rows[end].head() + rows[end].tail());
    if (tokens + all > batch_tokens) flush(first);
    for (size_t i = first; i < end; ++i) {
      const auto own = int64_t(rows[i].head() + rows[i].tail());
      if (tokens + own > batch_tokens) flush(i);
      tokens += own;
    }
  }
  flush(rows.size());
  return batches;
}

class ContinuationBatch {
 public:
  ContinuationBatch(const EncoderOnly& model, Kernels& kernels, std::span<const ScoredRow> rows, Precision precision,
                    PackedWeights* packed)
      : model_(model),
        rows_(rows),
        cache_(cache_for(model, rows)),
        tape_(kernels, {.record = false, .precision = precision, .parameters = &model.parameters(), .packed = packed}) {
  }

  // Sets the scores of the rows' continuations.
  void score(const std::vector<GivenContinuation>& continuations, std::vector<ContinuationScore>& scores) {
    read_heads();
    const Var states = read([](const ScoredRow& row) { return std::pair(row.head(), row.head() + row.tail()); });
    std::vector<int32_t> state_rows, ids;
    std::vector<ContinuationScore*> owners;  // the scores that the ids belong to
    int32_t begin = 0;
    for (const ScoredRow& row : rows_) {
      for (const size_t i : row.continuations) {
        for (size_t t = 0; t < row.tail(); ++t) {
          state_rows.push_back(begin + int32_t(t));
          ids.push_back(continuations[i].ids[t]);
          owners.push_back(&scores[i]);
        }
      }
      begin += int32_t(row.tail());
    }
    score_ids(states, state_rows, ids, owners);
  }

 private:
  static TokenCache cache_for(const EncoderOnly& model, std::span<const ScoredRow> rows) {
    std::vector<Prompt> prompts;
    for (const ScoredRow& row : rows) prompts.push_back({.ids = row.tokens(), .max_tokens = 1});
    return token_cache_for(model, prompts);
  }

  // Reads what precedes the scored tokens, each context once: first what all contexts of the batch begin with.
  void read_heads() {
    const auto is_first = [&](size_t i) { return i == 0 || !rows_[i].has_context_of(rows_[i - 1]); };
    const ScoredRow &front = rows_.front(), &back = rows_.back();
    size_t common = front.head();
    for (const ScoredRow& row : rows_) common = std::min(common, row.head());
    const auto mismatch =
        std::mismatch(front.context().begin(), front.context().begin() + ptrdiff_t(common), back.context().begin());
    common = size_t(mismatch.first - front.context().begin());
    if (common > 0) {
      read([&](const ScoredRow& row) { return std::pair(size_t{0}, &row == &front ? common : 0); });
      for (size_t i = 1; i < rows_.size(); ++i)
        if (is_first(i)) cache_.copy(0, int(i));
    }
    read([&](const ScoredRow& row) {
      return std::pair(common, is_first(size_t(&row - rows_.data())) ? row.head() : common);
    });
    for (size_t i = 1; i < rows_.size(); ++i)
      if (!is_first(i)) cache_.copy(int(i) - 1, int(i));
  }

  // Reads the next tokens of the rows, from the first to before the second of the places that part(row) returns.
  // Returns their states; none if there are no tokens.
  template <class Part>
  Var read(const Part& part) {
    std::vector<int32_t> ids, lengths;
    for (const ScoredRow& row : rows_) {
      const auto [begin, end] = part(row);
      const std::vector<int32_t> tokens = row.tokens();
      ids.insert(ids.end(), tokens.begin() + ptrdiff_t(begin), tokens.begin() + ptrdiff_t(end));
      lengths.push_back(int32_t(end - begin));
    }
    if (ids.empty()) return {};
    const Tensor all = Tensor::from({int64_t(ids.size())}, ids);
    return model_.advance(tape_, all, Segments::from_lengths(lengths), cache_);
  }

  // Appends the log-probability of each id after its state. Computes the logits in parts of at most 64 MiB.
  void score_ids(const Var& states, std::span<const int32_t> state_rows, std::span<const int32_t> ids,
                 const std::vector<ContinuationScore*>& owners) {
    const size_t part = size_t(std::max<int64_t>((int64_t{1} << 24) / model_.config().vocab_size, 1));
    for (size_t begin = 0; begin < ids.size(); begin += part) {
      const size_t count = std::min(part, ids.size() - begin);
      const auto rows = Tensor::from({int64_t(count)}, state_rows.subspan(begin, count));
      Tensor log_probs = model_.logits(gather_rows(states, rows)).value();
      if (log_probs.dtype() != DType::f32) log_probs = log_probs.to_cpu().to(DType::f32).to(log_probs.device());
      tape_.kernels().log_softmax(log_probs, log_probs);
      const std::vector<float> chosen = log_probs_of(tape_.kernels(), log_probs, ids.subspan(begin, count));
      const Tensor values = Tensor::empty({int64_t(count), 2}), best = Tensor::empty({int64_t(count), 1}, DType::i32);
      tape_.kernels().topk(values, best, log_probs, 0);
      for (size_t i = 0; i < count; ++i) {
        require(std::isfinite(chosen[i]), "[score] expected finite log-probabilities, got ", chosen[i],
                ": the model's weights or activations are not finite");
        ContinuationScore& score = *owners[begin + i];
        score.log_probs.push_back(chosen[i]);
        score.is_greedy = score.is_greedy && best.data<int32_t>()[i] == ids[begin + i];
      }
    }
  }

  const EncoderOnly& model_;
  std::span<const ScoredRow> rows_;
  TokenCache cache_;  // with a place for each row
  Tape tape_;
};

}  // namespace

std::vector<ContinuationScore> score_continuations(const EncoderOnly& model, Kernels& kernels,
                                                   const std::vector<GivenContinuation>& continuations,
                                                   Precision precision, int64_t batch_tokens,
                                                   const std::function<void(size_t done)>& progress) {
  require(batch_tokens >= 1, "[score] expected batches of at least 1 token, got ", batch_tokens);
  for (const GivenContinuation& given : continuations) {
    require(!given.context.empty() && !given.ids.empty(), "[score] expected a context and a continuation, got ",
            given.context.size(), " and ", given.ids.size(), " tokens");
  }
  std::vector<ContinuationScore> scores(continuations.size());
  const auto packed = packed_for_continuing(nullptr, kernels, precision);
  const std::vector<ScoredRow> rows = rows_of(continuations);
  size_t done = 0;
  for (const std::span<const ScoredRow> batch : batches_of(rows, batch_tokens)) {
    ContinuationBatch(model, kernels, batch, precision, packed.get()).score(continuations, scores);
    for (const ScoredRow& row : batch) done += row.continuations.size();
    if (progress) progress(done);
  }
  return scores;
}

}  // namespace gyre
