// Continuations of prompts by a causal model: greedy, drawn at random, or found by beam search.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gyre/models/decode/beam_search.h"
#include "gyre/models/encoder_only.h"

namespace gyre {

struct GenerationOptions {
  double temperature = 1;         // tokens are drawn from p^(1 / temperature), normalized; 0: greedy
  int top_k = 0;                  // draw from the k most probable tokens only; 0: from all
  double top_p = 1;               // draw from the most probable tokens that hold this share of the probability
  double min_p = 0;               // draw from the tokens that have this share of the largest probability or more
  double repetition_penalty = 1;  // factor of the logits of tokens that the text has already (Keskar et al. 2019, 4.1)
  uint64_t seed = 1;
  int32_t eos = 2;                       // ends a text
  std::vector<int32_t> ends = {};        // other ids that end a text
  std::vector<int32_t> suppressed = {};  // ids that are never chosen
  Precision precision = Precision::fp32;
  // The weights of the model, packed by earlier calls, for int8; null: a call packs what it needs.
  std::shared_ptr<PackedWeights> packed = nullptr;

  // Throws a UsageError with the name of the option of `gyre generate`.
  void validate() const;
};

// The packed weights of a causal model that continues texts: `packed`, or new ones, if the precision is int8, otherwise
// null. Products of few rows in other precisions read weights as they are, so that they are in memory once.
std::shared_ptr<PackedWeights> packed_for_continuing(const std::shared_ptr<PackedWeights>& packed, Kernels& kernels,
                                                     Precision precision);

// The options except the precision, for one row of logits: the id of the next token of a text. `text`: the ids of the
// prompt and the tokens so far. `stream` selects the random numbers, and `step` is the number of tokens so far.
int32_t choose_token(std::span<const float> logits, std::span<const int32_t> text, const GenerationOptions& options,
                     uint64_t stream, uint32_t step);

// A prompt to be continued.
struct Prompt {
  std::vector<int32_t> ids;  // not empty
  uint64_t stream = 0;       // stream of its random numbers
  int max_tokens = 0;        // limit of the continuation, at least 1
};

// A cache with a place for each prompt and its continuation. With window attention, its size does not depend on the
// length of the continuations. Throws for a model that cannot continue texts, an empty prompt, and for a prompt that
// has no position left.
TokenCache token_cache_for(const EncoderOnly& model, const std::vector<Prompt>& prompts);

// Continues a batch of prompts, one token of every text at a time. The tokens of a text are a function of its prompt,
// its stream, the options and the model's logits, which may differ in the last bits between batches of other sizes.
class Generation {
 public:
  // Why a text ended. `live`: it has not.
  enum class End : uint8_t { live, eos, length, stopped };
  struct Text {
    std::vector<int32_t> ids;      // ids of the continuation, without EOS
    std::vector<float> log_probs;  // values of these tokens, by the model's own distribution over the whole vocabulary
    End end = End::live;
  };

  // Throws for invalid options, and as token_cache_for() does.
  Generation(const EncoderOnly& model, Kernels& kernels, std::vector<Prompt> prompts, const GenerationOptions& options);

  bool done() const;
  // Chooses the next token of every live text. Must not be called after the end.
  void step();
  void stop(size_t text);  // ends a text

  const std::vector<Text>& texts() const { return texts_; }
  double flops() const { return tape_.flops(); }
  // Bytes of the weights that a step reads: all except the rows of a table that is not the output projection.
  double weight_bytes() const;

 private:
  Tensor next_logits();

  const EncoderOnly& model_;
  std::vector<Prompt> prompts_;
  GenerationOptions options_;
  std::vector<Text> texts_;
  TokenCache cache_;
  std::shared_ptr<PackedWeights> packed_;  // null unless the precision is int8
  Tape tape_;
};

// Rules of a beam search over continuations.
struct ContinuationRules {
  // The log-probabilities of tokens that the prompt or the continuation has already are multiplied by this, as in
  // Hugging Face's beam search; those of the hypotheses contain it.
  double repetition_penalty = 1;
  // Whether a continuation of prompts[i] ends with these tokens, as it does with EOS; empty: it does not.
  std::function<bool(size_t i, std::span<const int32_t> ids)> ends = {};
};

// The n_best continuations of each prompt, best first. Of the options, the length limits are not read: those of the
// prompts count, and a continuation that reaches its limit ends without EOS. With StopRule::present_length, the results
// are those of Hugging Face's generate(num_beams=.., length_penalty=.., repetition_penalty=..) if it suppresses the
// same ids. The prompts share their batch; their streams are not read. Adds the FLOPs (Tape::flops) to *flops. Throws
// as Generation does.
std::vector<std::vector<Hypothesis>> search_continuations(const EncoderOnly& model, Kernels& kernels,
                                                          const std::vector<Prompt>& prompts, DecodeOptions options,
                                                          const ContinuationRules& rules = {}, double* flops = nullptr);

}  // namespace gyre
