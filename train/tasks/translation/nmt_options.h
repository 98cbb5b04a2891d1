// The training options of translation models.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/models/modules/lora.h"
#include "gyre/train/options.h"

namespace gyre {

// The side of the training pairs whose sentences BPE dropout splits.
enum class BpeDropoutSide : uint8_t { both, source, target };
template <>
inline constexpr std::pair<BpeDropoutSide, std::string_view> kEnumNames<BpeDropoutSide>[] = {
    {BpeDropoutSide::both, "both"}, {BpeDropoutSide::source, "source"}, {BpeDropoutSide::target, "target"}};

// data.train_sets and data.valid_sets: a source and a target file, or token stores. batch.unit: target, source or
// total tokens, or sentences.
struct NmtOptions : TrainOptions {
  NmtOptions() {
    batch.unit = BatchUnit::target_tokens;
    validation.metrics = {"cross-entropy", "bleu"};
  }
  TokenizerChoice tokenizer;  // way to read the vocabulary
  Path pretrained_model;      // initial weights of a new run (train/tasks/initial_weights.h), or empty
  LoraOptions lora;           // adapters of the pretrained model, which are trained instead of it
  double label_smoothing = 0.1;
  double bpe_dropout = 0;  // probability of leaving out a merge in training sentences
  BpeDropoutSide bpe_dropout_side = BpeDropoutSide::both;
  double r_drop = 0;  // alpha of EncoderDecoder::r_drop_loss(); 0: each batch passes through the model once
  int valid_beam = 4;
  double valid_length_penalty = 0.6;
  void declare(OptionList& list) override;
  std::unique_ptr<TrainOptions> with_defaults() const override { return std::make_unique<NmtOptions>(); }
  // Whether a validation translates, for a metric such as BLEU.
  bool translates() const;
  void validate() const;       // throws a UsageError if an option is invalid
  void validate_task() const;  // the same for the options of the task, which need no run directory
};

}  // namespace gyre
