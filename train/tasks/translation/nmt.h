// Training of translation models, `gyre train nmt`: the sentence pairs, the validation and the run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gyre/core/kernels/kernels.h"
#include "gyre/data/batch/pair_batch.h"
#include "gyre/data/tokenizer/bpe_dropout.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/config/config.h"
#include "gyre/models/decode/beam_search.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/train/job.h"
#include "gyre/train/metrics/text.h"
#include "gyre/train/parallel/communicator.h"
#include "gyre/train/step.h"
#include "gyre/train/task.h"
#include "gyre/train/tasks/inputs.h"
#include "gyre/train/tasks/translation/nmt_options.h"

namespace gyre {

// Held-out sentence pairs. The ids contain no special ids; texts and references are plain text.
struct NmtValidationSet {
  std::vector<std::vector<int32_t>> sources, targets;
  Lines source_texts, references;
  size_t size() const { return sources.size(); }
};

// Validation of a translation model on held-out pairs, which the ranks divide among themselves: cross-entropy, and BLEU
// or chrF of beam search.
//   "cross-entropy"  nats per target token including EOS, without label smoothing
//   "perplexity"     exponential of the cross-entropy
//   "bleu", "chrf"   0..100, if listed in options.validation.metrics
class NmtValidation final : public Validation {
 public:
  NmtValidation(NmtValidationSet set, const Vocabulary& vocabulary, const EncoderDecoder& model,
                const JobContext& context, const NmtOptions& options);

  ValidationBasis basis() const override;
  ValidationResult run() override;

 private:
  bool translates() const { return wants("bleu") || wants("chrf"); }
  bool wants(const std::string& metric) const;
  double cross_entropy();
  Lines translate();                               // returns all lines on rank 0, none on other ranks
  std::string translate_some(size_t chunk) const;  // returns the lines of one chunk, each with a line break
  std::vector<ValidationSample> first_samples(const Lines& hypotheses) const;

  NmtValidationSet set_;
  std::vector<std::vector<size_t>> chunks_;  // indices into the set; sentences of similar length decoded together
  const Vocabulary& vocabulary_;
  const EncoderDecoder& model_;
  Kernels& kernels_;
  Precision precision_;
  Communicator& ranks_;
  std::vector<std::string> metrics_;
  DecodeOptions decode_;
};

// Batches of training pairs. Token counts include EOS. With BPE dropout, every epoch splits the sentences into other
// pieces, a pure function of (seed, epoch, sentence). The plan of batches uses the stored lengths, and a sentence that
// would exceed --max-length keeps its stored pieces.
class NmtData final : public TrainingData {
 public:
  // Opens a token store or reads text, and logs how many pairs were left out.
  NmtData(const NmtOptions& options, const Vocabulary& vocabulary, LossFunction<PairInput> loss, int micro_batches);

  std::string describe() const override;
  std::string item() const override { return "pair"; }
  uint64_t checksum() const override { return store_.checksum(); }
  void start_epoch(uint64_t epoch, uint64_t) override { batches_.start(epoch); }
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, MicroBatchRange own) const override;

 private:
  std::vector<int32_t> sentence(uint32_t index, int side) const;
  PairBatch pairs(std::span<const uint32_t> indices) const;

  bool drops() const { return dropouts_[0] != nullptr || dropouts_[1] != nullptr; }

  std::array<std::shared_ptr<const BpeDropout>, 2> dropouts_;
  TokenStore store_;
  EpochBatches batches_;
  LossFunction<PairInput> loss_;
  double drop_probability_;
  uint64_t seed_;
  int max_length_;
};

// The splitters of --bpe-dropout for sources and targets; null for a side that is not split. Throws UsageError for a
// vocabulary without merges.
std::array<std::shared_ptr<const BpeDropout>, 2> make_bpe_dropouts(const NmtOptions& options,
                                                                   const Vocabulary& vocabulary);

// Reads the validation pairs of `options`. Skips pairs with more than `longest` ids, including EOS, on either side.
NmtValidationSet read_validation_set(const NmtOptions& options, const Vocabulary& vocabulary, int64_t longest);

// Sets the sizes of the tables of embeddings. Two vocabularies have tables of their own.
void set_vocabulary_sizes(EncoderDecoderConfig& config, const Vocabulary& vocabulary);

// Collective. Starts the run in start.directory, or resumes an existing one. Returns the result of a replay, if
// options.replay asks for one. The vocabulary sets config.vocab_size. Only rank 0 writes files.
std::optional<ReplayResult> train_nmt(const Resolved<NmtOptions>& options, const EncoderDecoderConfig& config,
                                      Communicator& ranks);

}  // namespace gyre
