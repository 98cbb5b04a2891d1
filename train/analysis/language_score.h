// Scores documents with a language model: perplexity, accuracy, and losses at lengths beyond those of training.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/data/batch/masking.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/store/token_store.h"
#include "gyre/models/encoder_only.h"

namespace gyre {

// How a causal language model scores documents (perplexity, accuracy). A document is split into windows. Without
// context, windows do not overlap, as with fairseq's --context-window 0 and in training. With context, each window
// begins that number of tokens before the first one that it scores (Press et al. 2021).
struct ScoreOptions {
  int max_length = 512;       // rows of a window
  int context = 0;            // first rows of a window that are not scored, except in a document's first window
  int64_t batch_rows = 4096;  // rows per batch
  // Whether a window begins with BOS, unless its first token is BOS. Otherwise nothing predicts its first token, which
  // is not scored.
  bool bos = true;
  Precision precision = Precision::fp32;
  std::function<void(uint64_t tokens)> on_tokens{};  // called with the number of tokens that were scored so far
};

// Sums over all tokens and every </s> of the documents.
struct LanguageScore {
  double nll = 0;  // nats
  uint64_t tokens = 0, correct = 0, documents = 0;
};

// Scores the documents in a part of a store. If a single document is divided between the parts, scores its tokens in
// the part. Throws if the model is not causal, an option is out of range or the part is empty.
LanguageScore score_documents(const EncoderOnly& model, Kernels& kernels, const StorePart& part,
                              const ScoreOptions& options);

// Length extrapolation: scores a language model on a text at lengths other than its training length.
//
// The documents form one sequence of tokens, with </s> after each. Every length and protocol scores the same tokens,
// from the beginning of the sequence; the last block of a length may be shorter than the others. Each block or piece
// begins with <s> and has no context before it. Without <s>, nothing predicts the first token of a block or piece of a
// causal model, which is not scored.
//   cut      blocks of `length`, split into pieces of the training length       (Oka et al. 2025: "non-overlapping")
//   full     blocks of `length`; a token's context is its block up to the token (fairseq: --context-window 0)
//   sliding  a token's context is the length - 1 tokens before it               (fairseq: --context-window length - 1)
// `sliding` reads the text once, in chunks, while each layer caches the keys and values of its last length - 1 tokens:
// time grows linearly with the text, and memory is constant. The result differs from a separate pass over the window of
// every token, which `gyre evaluate perplexity --max-length L --context-window L-1` computes at L times the cost: a
// cached key was computed with its own L - 1 predecessors in context, so layer k depends on k (L - 1) earlier tokens,
// and only the first window has a <s>.
//
// A masked model predicts the masked tokens of the text, the same at every length. A block or piece has <s> before its
// tokens and, unless it ends with a document, </s> after them, as the samples of its training do; both count in the
// length. `sliding` is for causal models.
enum class LengthProtocol : uint8_t { cut, full, sliding };

template <>
inline constexpr std::pair<LengthProtocol, std::string_view> kEnumNames<LengthProtocol>[] = {
    {LengthProtocol::cut, "cut"}, {LengthProtocol::full, "full"}, {LengthProtocol::sliding, "sliding"}};

struct ExtrapolationOptions {
  int trained_length = 512;   // tokens of a piece of `cut`
  int64_t batch_rows = 4096;  // rows per batch and per chunk of `sliding`; a longer block is a batch by itself
  bool bos = true;            // whether each block or piece of a causal model begins with <s>
  Precision precision = Precision::fp32;
};

// Concatenates a store's documents, with </s> after each, and returns the first `max_tokens` tokens.
std::vector<int32_t> concatenate_documents(const TokenStore& store, uint64_t max_tokens);

// Masks a text in place, in slices of 512 tokens, so that the masks do not depend on the length of blocks. Returns the
// rows to predict and their ids, in ascending order. Throws for a text of more than 2^31 - 1 tokens.
std::vector<MaskedRow> mask_text(std::span<int32_t> tokens, const Masking& masking);

// Returns the reason why a model cannot be scored at a length, or an empty string if it can.
std::string reason_not_scored(const EncoderOnly& model, int length, LengthProtocol protocol, int trained_length);

struct LengthScore {
  double nll = 0;       // nats, summed over all predicted tokens
  uint64_t tokens = 0;  // predicted tokens
};

// The text that a LengthScorer reads. For a masked model, mask_text() has changed `ids` and returned `masked`, which a
// causal model lacks, because it predicts every token.
struct ScoredTokens {
  std::span<const int32_t> ids;
  int32_t bos, eos;
  std::span<const MaskedRow> masked = {};
};

class LengthScorer {
 public:
  // The model and the text must outlive the scorer. `on_tokens` is called with the number of tokens that were newly
  // read.
  LengthScorer(const EncoderOnly& model, Kernels& kernels, const ScoredTokens& text,
               const ExtrapolationOptions& options, std::function<void(int64_t)> on_tokens);

  // Throws an Error if reason_not_scored() returns a reason.
  LengthScore run(int length, LengthProtocol protocol);

 private:
  // The first input and the tokens that are predicted one after another.
  struct Piece {
    int32_t first;
    std::span<const int32_t> targets;
  };
  Piece piece_of(std::span<const int32_t> tokens) const;
  LengthScore score_blocks(int length, int piece);
  LengthScore score_stream(int length);
  struct Batch {
    std::vector<int32_t> inputs, rows, targets, segments;  // no rows: all are predicted
  };
  // lengths: the tokens of each block or piece; the first begins at token `begin` of the text.
  void add_batch(LengthScore& score, int64_t begin, const std::vector<int32_t>& lengths) const;
  Batch next_token_batch(int64_t begin, const std::vector<int32_t>& lengths) const;
  Batch masked_batch(int64_t begin, const std::vector<int32_t>& lengths) const;
  void add(LengthScore& score, const LossResult& loss) const;

  const EncoderOnly& model_;
  Kernels& kernels_;
  ScoredTokens text_;
  ExtrapolationOptions options_;
  std::function<void(int64_t)> on_tokens_;
};

}  // namespace gyre
