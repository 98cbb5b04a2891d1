#include "gyre/train/analysis/extrapolation.h"

#include <algorithm>
#include <limits>

#include "gyre/core/error.h"
#include "gyre/data/batch/document_batch.h"
#include "gyre/data/store/document_store.h"
#include "gyre/train/tasks/to_tensor.h"

namespace gyre {

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

}  // namespace

std::string reason_not_scored(const EncoderOnly& model, int length, LengthProtocol protocol) {
  if (protocol == LengthProtocol::sliding) return streaming_obstacle(model);
  if (protocol == LengthProtocol::full && length > model.longest())
    return concat(model.config().position.encoding, " has positions up to ", model.longest());
  return "";
}

LengthScorer::LengthScorer(const EncoderOnly& model, Kernels& kernels, std::span<const int32_t> tokens, int32_t bos,
                           const ExtrapolationOptions& options, std::function<void(int64_t)> on_tokens)
    : model_(model),
      kernels_(kernels),
      tokens_(tokens),
      bos_(bos),
      options_(options),
      on_tokens_(std::move(on_tokens)) {
  require(model.config().causal, "[extrapolation] expected a causal language model, got a bidirectional one");
}

LengthScore LengthScorer::run(int length, LengthProtocol protocol) {
  const std::string reason = reason_not_scored(model_, length, protocol);
  require(reason.empty(), "[extrapolation] ", enum_name(protocol), " at length ", length, ": ", reason);
  if (protocol == LengthProtocol::sliding) return score_stream(length);
  const int piece = protocol == LengthProtocol::cut ? std::min(length, options_.trained_length) : length;
  return score_blocks(length, piece);
}

LengthScore LengthScorer::score_blocks(int length, int piece) {
  LengthScore score;
  std::vector<int32_t> lengths;  // lengths in the current batch
  int64_t begin = 0, end = 0;    // tokens of the current batch
  const auto total = int64_t(tokens_.size());
  while (end < total) {
    const int64_t block_end = std::min((end / length + 1) * length, total);
    const int64_t next = std::min(end + piece, block_end);
    if (next - begin > options_.batch_rows && !lengths.empty()) {
      add_batch(score, tokens_.subspan(size_t(begin), size_t(end - begin)), lengths);
      lengths.clear();
      begin = end;
    }
    lengths.push_back(int32_t(next - end));
    end = next;
  }
  if (!lengths.empty()) add_batch(score, tokens_.subspan(size_t(begin)), lengths);
  return score;
}

void LengthScorer::add_batch(LengthScore& score, std::span<const int32_t> targets,
                             const std::vector<int32_t>& lengths) const {
  std::vector<int32_t> inputs, predicted, segments;
  size_t begin = 0;
  for (const int32_t length : lengths) {
    const Piece piece = piece_of(targets.subspan(begin, size_t(length)));
    begin += size_t(length);
    if (piece.targets.empty()) continue;
    append_next_token_inputs(inputs, piece.first, piece.targets);
    predicted.insert(predicted.end(), piece.targets.begin(), piece.targets.end());
    segments.push_back(int32_t(piece.targets.size()));
  }
  if (segments.empty()) return;
  Tape tape(kernels_, {.record = false, .precision = options_.precision});
  add(score, model_.loss(tape, {to_tensor(inputs), Segments::from_lengths(segments), {}, to_tensor(predicted)}));
}

LengthScorer::Piece LengthScorer::piece_of(std::span<const int32_t> tokens) const {
  return options_.bos ? Piece{bos_, tokens} : Piece{tokens.front(), tokens.subspan(1)};
}

LengthScore LengthScorer::score_stream(int length) {
  LengthScore score;
  std::vector<int32_t> inputs;
  const Piece piece = piece_of(tokens_);
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
    begin += count;
  }
  return score;
}

void LengthScorer::add(LengthScore& score, const LossResult& loss) const {
  score.nll += loss.sums().nll;
  score.tokens += uint64_t(loss.predictions);
  on_tokens_(loss.predictions);
}

}  // namespace gyre
