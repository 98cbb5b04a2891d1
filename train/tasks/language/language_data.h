// Documents as the samples of a language model: training batches and validation samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/data/batch/document_batch.h"
#include "gyre/data/batch/masking.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/encoder_only.h"
#include "gyre/train/task.h"
#include "gyre/train/tasks/inputs.h"
#include "gyre/train/tasks/language/language_options.h"

namespace gyre {

// The name of the option in a run (train/resume.h). Runs without it put nothing between the lines of a document.
inline constexpr std::string_view kLineEndsOption = "line-ends";

using SharedDocuments = std::shared_ptr<const Documents>;
// The training data of a run or a stage: all files of train_sets as one corpus or, with train_weights, one for each.
using Corpora = std::vector<SharedDocuments>;

// The line ends of documents in the run that the options start or resume; empty if --documents is whole.
std::optional<LineEnds> line_ends_of_run(const LanguageOptions& options, const Vocabulary& vocabulary);
// The options with what the run that they start or resume has found out: the line ends of its documents and,
// for a causal model, the text of the chat template.
LanguageOptions options_of_run(const LanguageOptions& options, SampleOptions::Task task, const Vocabulary& vocabulary);

// Opens train_sets of options_of_run(): token stores, or text, of which it logs how many lines were skipped.
Corpora open_corpora(const LanguageOptions& options, const Vocabulary& vocabulary);
// Checksum of the content, in this order. That of one corpus is that of its store.
uint64_t checksum_of(const Corpora& corpora);
// Cuts the training documents of a corpus into samples.
SharedSamples training_samples(const SharedDocuments& corpus, const LanguageOptions& options, SampleOptions::Task task);

struct LanguageValidationSet {
  std::string name;
  SharedSamples samples;
  // Bytes of the text that all samples together predict, if validation.metrics has bits-per-byte.
  uint64_t bytes = 0;
};
// Opens each file of valid_sets, or takes the held-out documents of each corpus.
std::vector<LanguageValidationSet> open_validation_sets(const LanguageOptions& options, SampleOptions::Task task,
                                                        const Corpora& corpora, const Vocabulary& vocabulary);

// Packs the samples at `indices` and chooses the tokens to predict in this epoch: the targets of the input.
using MakeInput =
    std::function<MaskedInput(const SampleSource& samples, std::span<const uint32_t> indices, uint64_t epoch)>;
MakeInput masked_inputs(Masking masking);
// The inputs of a causal model: it predicts the next token of every row or, with answers, those of the answers.
MakeInput next_token_inputs();
MakeInput answer_inputs();

class LanguageData final : public TrainingData {
 public:
  LanguageData(const Corpora& corpora, SampleOptions::Task task, MakeInput make_input, LossFunction<MaskedInput> loss,
               const LanguageOptions& options, int micro_batches);
  LanguageData(const LanguageData&) = delete;  // the batches refer to the samples

  std::string describe() const override;
  std::string item() const override { return "sample"; }
  uint64_t checksum() const override { return checksum_; }
  void start_epoch(uint64_t epoch, uint64_t) override;
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, MicroBatchRange own) const override;

 private:
  uint64_t checksum_;
  DrawnSamples samples_;
  MakeInput make_input_;
  LossFunction<MaskedInput> loss_;
  EpochBatches batches_;
};

// Writes the global batches of the first `updates` updates of a new run with these options to a safetensors file, so
// that another program can train on the same ones, and returns a description of it. All tensors are i32. The names
// begin with the number of the update, from 1, as "update-00000001."; with T rows in S samples and P predictions:
//   ids      (T)      the samples, one after another: after masking, or without their last token for a causal model
//   offsets  (S + 1)  sample i consists of the rows from offsets[i] to offsets[i + 1] - 1; with documents that attend
//                     apart, a sample counts once for each of its documents
//   rows     (P)      the rows to predict, ascending; absent for a causal model that predicts in every row
//   targets  (P)      the id to predict in each of these rows
// The loss of the update is the mean over its P predictions, for any number of ranks and micro-batches. All batches are
// in memory until the file is written. Throws an Error that names the file.
std::string write_masked_batches(const Resolved<MaskedOptions>& options, uint64_t updates, const Path& file);
std::string write_causal_batches(const Resolved<LanguageOptions>& options, uint64_t updates, const Path& file);

}  // namespace gyre
