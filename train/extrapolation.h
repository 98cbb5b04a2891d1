// How well a causal language model foretells a text at other lengths than that of its training.
//
// The documents are one row of tokens, </s> after each. Every length and protocol scores the same tokens, the first of
// the row; the last block of a length may be shorter than the others. A block or piece begins with <s> and starts anew.
//   cut      blocks of `length`, each cut into pieces of the length of training  (Oka et al. 2025: "non-overlapping")
//   full     blocks of `length`, every token after all of its block before it    (fairseq: --context-window 0)
//   sliding  every token after the length - 1 before it                          (fairseq: --context-window length - 1)
// `sliding` reads the text once, in chunks, while each layer keeps the keys and values of its last length - 1 tokens:
// time grows with the text alone and memory not at all. It is not what a pass over every token's own window gives,
// which `gyre evaluate perplexity --max-length L --context-window L-1` computes at L times the cost: a key that is kept
// was made when its own L - 1 predecessors were in sight, so layer k hears of k (L - 1) tokens before its own, and of
// all windows only the first has a <s>.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/kernels.h"
#include "data/token_store.h"
#include "models/encoder_only.h"
#include "models/enum_names.h"

namespace gyre {

enum class LengthProtocol : uint8_t { cut, full, sliding };

template <>
inline constexpr std::pair<LengthProtocol, std::string_view> kEnumNames<LengthProtocol>[] = {
    {LengthProtocol::cut, "cut"}, {LengthProtocol::full, "full"}, {LengthProtocol::sliding, "sliding"}};

struct ExtrapolationOptions {
  int trained_length = 512;
  int64_t batch_rows = 4096;  // worked through at a time, and a chunk of `sliding`; a longer block alone
  Precision precision = Precision::fp32;
};

// The first `most` tokens of a store's documents in one row.
std::vector<int32_t> join_documents(const TokenStore& store, uint64_t most);

// Why a model cannot be scored at a length; empty: it can.
std::string no_score(const EncoderOnly& model, int length, LengthProtocol protocol);

struct LengthScore {
  double nll = 0;  // nats, summed over all tokens
  uint64_t tokens = 0;
};

class LengthScorer {
 public:
  // The model and the tokens must outlive it. on_tokens is told how many more were scored.
  LengthScorer(const EncoderOnly& model, Kernels& kernels, std::span<const int32_t> tokens, int32_t bos,
               const ExtrapolationOptions& options, std::function<void(int64_t)> on_tokens);

  // Throws where no_score() gives a reason.
  LengthScore run(int length, LengthProtocol protocol);

 private:
  LengthScore score_blocks(int length, int piece);
  LengthScore score_stream(int length);
  void add_batch(LengthScore& score, std::span<const int32_t> targets, const std::vector<int32_t>& lengths) const;
  void add(LengthScore& score, const LossResult& loss) const;

  const EncoderOnly& model_;
  Kernels& kernels_;
  std::span<const int32_t> tokens_;
  int32_t bos_;
  ExtrapolationOptions options_;
  std::function<void(int64_t)> on_tokens_;
};

}  // namespace gyre
