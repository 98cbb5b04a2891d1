#include "gyre/train/analysis/language_score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/data/batch/document_batch.h"
#include "gyre/data/store/document_store.h"
#include "gyre/train/tasks/inputs.h"

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

std::vector<int32_t> concatenate_documents(const TokenStore& store, uint64_t max_tokens) {
  std::vector<int32_t> tokens;
  StorePart(store, 0, Part::training).for_each_document([&](TokenRange document, bool) {
    const uint64_t room = max_tokens - tokens.size();
    store.append_tokens(document.begin, document.begin + std::min(document.end - document.begin, room), tokens);
    if (tokens.size() < max_tokens && tokens.back() != store.eos()) tokens.push_back(store.eos());
  });
  return tokens;
}

namespace {

// Reason why a model cannot read a text in chunks with a window of keys; empty if it can.
std::string streaming_obstacle(const EncoderOnly& model) {
  const AttentionKind kind = model.config().attention.kind;
  if (kind != AttentionKind::softmax && kind != AttentionKind::window)
    return concat(enum_name(kind), " attention stores no keys");
  if (!model.positions().is_relative()) return model.config().position.encoding + " positions are absolute";
  return model.continuing_obstacle();
}

// Rows of a block or piece of a masked model that hold no token of the text: <s> and </s>.
constexpr int kMaskedExtraRows = 2;

int piece_length(int length, LengthProtocol protocol, int trained_length) {
  return protocol == LengthProtocol::cut ? std::min(length, trained_length) : length;
}

}  // namespace

std::vector<MaskedRow> mask_text(std::span<int32_t> tokens, const Masking& masking) {
  constexpr size_t slice = 512;
  require(tokens.size() <= size_t(std::numeric_limits<int32_t>::max()), "[extrapolation] expected at most ",
          std::numeric_limits<int32_t>::max(), " tokens for a masked model (--tokens), got ", tokens.size());
  std::vector<MaskedRow> rows;
  for (size_t begin = 0; begin < tokens.size(); begin += slice) {
    for (const MaskedRow& row :
         masking.mask(tokens.subspan(begin, std::min(slice, tokens.size() - begin)), 0, begin / slice))
      rows.push_back({int32_t(begin) + row.row, row.id});
  }
  return rows;
}

std::string reason_not_scored(const EncoderOnly& model, int length, LengthProtocol protocol, int trained_length) {
  const bool is_masked = !model.config().causal;
  if (protocol == LengthProtocol::sliding)
    return is_masked ? "a masked model predicts no next tokens" : streaming_obstacle(model);
  const int piece = piece_length(length, protocol, trained_length);
  if (is_masked && piece <= kMaskedExtraRows) return concat("<s> and </s> leave no room in ", piece, " tokens");
  if (piece > model.longest())
    return concat(model.config().position.encoding, " has positions up to ", model.longest());
  return "";
}

LengthScorer::LengthScorer(const EncoderOnly& model, Kernels& kernels, const ScoredTokens& text,
                           const ExtrapolationOptions& options, std::function<void(int64_t)> on_tokens)
    : model_(model), kernels_(kernels), text_(text), options_(options), on_tokens_(std::move(on_tokens)) {
  require(model.config().causal == text.masked.empty(), "[extrapolation] expected masked tokens for a masked model ",
          "and none for a causal one, got ", text.masked.size());
}

LengthScore LengthScorer::run(int length, LengthProtocol protocol) {
  const std::string reason = reason_not_scored(model_, length, protocol, options_.trained_length);
  require(reason.empty(), "[extrapolation] ", enum_name(protocol), " at length ", length, ": ", reason);
  if (protocol == LengthProtocol::sliding) return score_stream(length);
  const int piece = piece_length(length, protocol, options_.trained_length);
  if (model_.config().causal) return score_blocks(length, piece);
  return score_blocks(piece - kMaskedExtraRows, piece - kMaskedExtraRows);
}

LengthScore LengthScorer::score_blocks(int length, int piece) {
  LengthScore score;
  std::vector<int32_t> lengths;  // lengths in the current batch
  int64_t begin = 0, end = 0;    // tokens of the current batch
  const auto total = int64_t(text_.ids.size());
  const int64_t extra_rows = model_.config().causal ? 0 : kMaskedExtraRows;
  while (end < total) {
    const int64_t block_end = std::min((end / length + 1) * length, total);
    const int64_t next = std::min(end + piece, block_end);
    const int64_t rows = next - begin + extra_rows * int64_t(lengths.size() + 1);
    if (rows > options_.batch_rows && !lengths.empty()) {
      add_batch(score, begin, lengths);
      lengths.clear();
      begin = end;
    }
    lengths.push_back(int32_t(next - end));
    end = next;
  }
  if (!lengths.empty()) add_batch(score, begin, lengths);
  return score;
}

void LengthScorer::add_batch(LengthScore& score, int64_t begin, const std::vector<int32_t>& lengths) const {
  const Batch batch = model_.config().causal ? next_token_batch(begin, lengths) : masked_batch(begin, lengths);
  if (!batch.targets.empty()) {
    Tape tape(kernels_, {.record = false, .precision = options_.precision});
    const Tensor rows = batch.rows.empty() ? Tensor() : to_tensor(batch.rows);
    add(score, model_.loss(tape, {to_tensor(batch.inputs), Segments::from_lengths(batch.segments), rows,
                                  to_tensor(batch.targets)}));
  }
  on_tokens_(std::accumulate(lengths.begin(), lengths.end(), int64_t{0}));
}

LengthScorer::Batch LengthScorer::next_token_batch(int64_t begin, const std::vector<int32_t>& lengths) const {
  Batch batch;
  for (const int32_t length : lengths) {
    const Piece piece = piece_of(text_.ids.subspan(size_t(begin), size_t(length)));
    begin += length;
    if (piece.targets.empty()) continue;
    append_next_token_inputs(batch.inputs, piece.first, piece.targets);
    batch.targets.insert(batch.targets.end(), piece.targets.begin(), piece.targets.end());
    batch.segments.push_back(int32_t(piece.targets.size()));
  }
  return batch;
}

LengthScorer::Batch LengthScorer::masked_batch(int64_t begin, const std::vector<int32_t>& lengths) const {
  Batch batch;
  const auto is_before = [](const MaskedRow& masked, int64_t row) { return masked.row < row; };
  auto masked = std::lower_bound(text_.masked.begin(), text_.masked.end(), begin, is_before);
  for (const int32_t length : lengths) {
    const std::span<const int32_t> piece = text_.ids.subspan(size_t(begin), size_t(length));
    const size_t rows_before = batch.inputs.size();
    batch.inputs.push_back(text_.bos);
    for (; masked != text_.masked.end() && masked->row < begin + length; ++masked) {
      batch.rows.push_back(int32_t(int64_t(batch.inputs.size()) + masked->row - begin));
      batch.targets.push_back(masked->id);
    }
    batch.inputs.insert(batch.inputs.end(), piece.begin(), piece.end());
    if (batch.inputs.back() != text_.eos) batch.inputs.push_back(text_.eos);
    batch.segments.push_back(int32_t(batch.inputs.size() - rows_before));
    begin += length;
  }
  return batch;
}

LengthScorer::Piece LengthScorer::piece_of(std::span<const int32_t> tokens) const {
  return options_.bos ? Piece{text_.bos, tokens} : Piece{tokens.front(), tokens.subspan(1)};
}

LengthScore LengthScorer::score_stream(int length) {
  LengthScore score;
  std::vector<int32_t> inputs;
  const Piece piece = piece_of(text_.ids);
  append_next_token_inputs(inputs, piece.first, piece.targets);
  const auto chunk = int32_t(std::min<int64_t>(options_.batch_rows, std::numeric_limits<int32_t>::max()));
  TokenCache cache(int(model_.config().layers), {{.tokens = std::numeric_limits<int32_t>::max(), .first_chunk = chunk}},
                   length, TokenCache::Keys::unrotated);
  for (size_t begin = 0; begin < inputs.size();) {
    const size_t count = std::min(inputs.size() - begin, size_t(chunk));
    Tape tape(kernels_, {.record = false, .precision = options_.precision});
    const Var states = model_.advance(tape, to_tensor(std::span<const int32_t>(inputs).subspan(begin, count)),
                                      Segments::from_lengths({int32_t(count)}), cache);
    add(score, model_.loss(states, to_tensor(piece.targets.subspan(begin, count))));
    on_tokens_(int64_t(count));
    begin += count;
  }
  return score;
}

void LengthScorer::add(LengthScore& score, const LossResult& loss) const {
  score.nll += loss.sums().nll;
  score.tokens += uint64_t(loss.predictions);
}

}  // namespace gyre
