// Fine-tuning: loads pretrained encoders, starts the training of an encoder with a classification head, and trains and
// validates it on labeled rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gyre/autograd/parameters.h"
#include "gyre/core/io/file.h"
#include "gyre/data/batch/labeled_batch.h"
#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/models/config/config.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/job.h"
#include "gyre/train/task.h"
#include "gyre/train/tasks/fine_tuning_options.h"
#include "gyre/train/tasks/inputs.h"
#include "gyre/train/tasks/predictions.h"

namespace gyre {

// A pretrained encoder with its vocabulary.
struct PretrainedEncoder {
  EncoderOnlyConfig config;
  std::shared_ptr<const Vocabulary> vocabulary;
  Path vocabulary_file;                 // copies of the vocabulary get the same file name
  std::shared_ptr<Parameters> weights;  // weights of the layers and of the model's head, by name, on the CPU
};

// Loads an encoder-only model or a classifier. `model`: a run directory, a checkpoint in it, or its model.safetensors;
// or a directory of Hugging Face (train/pretrained/hugging_face.h). Throws an Error for any other kind of model.
PretrainedEncoder load_pretrained(const Path& model);

// Copies the encoder's weights by name into all parameters of a classifier except those of its head.
void copy_encoder_weights(Parameters& classifier, const PretrainedEncoder& encoder);

// The encoder of a run, with the pretrained model if there is one.
struct InitialEncoder {
  EncoderOnlyConfig config;
  std::optional<PretrainedEncoder> pretrained;
};

// `encoder`: the configuration of a new model; with a pretrained model only its dropout is used. A run that continues
// has the pretrained model's configuration if that has been removed. Throws a UsageError if it is the run itself.
InitialEncoder initial_encoder(const FineTuningOptions& options, const EncoderOnlyConfig& encoder);

// The configuration of the classifier: the encoder with the head that the options choose. `outputs`: of the head.
ClassifierConfig classifier_config(const FineTuningOptions& options, const EncoderOnlyConfig& encoder, int64_t outputs);

// Fills in the vocabulary and the model of the run, and frees the pretrained model. Sets initial.config.vocab_size.
// `outputs`: number of outputs of the head. `loss_name`: see TrainingModel. Returns the network, which `parts` owns.
// Throws a UsageError if --max-length exceeds the positions of the encoder.
const SequenceClassifier& start_classifier(TaskParts& parts, const FineTuningOptions& options, InitialEncoder& initial,
                                           int64_t outputs, const std::string& loss_name, const JobContext& context);

// Labeled rows as the items of batches. The rows of an item are in the same micro-batch.
struct LabeledItems {
  LabeledIds rows;
  std::string name = "row";  // item in the singular, for the log
  uint32_t rows_per_item = 1;
  uint64_t predictions_per_item = 1;
  double swap = 0;  // probability that the texts of the rows of an item trade places, drawn for each item and epoch
};

// Batches of labeled rows.
class LabeledData final : public TrainingData {
 public:
  LabeledData(LabeledItems items, const FineTuningOptions& options, const EncoderOnlyConfig& encoder,
              LossFunction<LabeledInput> loss, int micro_batches);

  std::string describe() const override;
  std::string item() const override { return items_.name; }
  uint64_t checksum() const override { return items_.rows.checksum(); }
  void start_epoch(uint64_t epoch, uint64_t) override { batches_.start(epoch); }
  size_t batches() const override { return batches_.plan().size(); }
  RankBatch batch(size_t i, MicroBatchRange own) const override;

 private:
  size_t size() const { return items_.rows.size() / items_.rows_per_item; }
  uint64_t length(size_t item) const;
  bool swaps(uint32_t item) const;
  LabeledInput input(std::span<const uint32_t> items) const;

  std::string file_;
  LabeledItems items_;
  EncoderOnlyConfig encoder_;
  uint64_t seed_;
  EpochBatches batches_;
  LossFunction<LabeledInput> loss_;
};

// Validation on labeled rows: the loss and the metrics of the options, each computed by its name from the predictions.
class LabeledValidation final : public Validation {
 public:
  using Score = std::function<double(std::string_view metric, const Predictions& predictions, const LabeledIds& rows)>;
  // score_basis: what the scores depend on beside the rows.
  LabeledValidation(LabeledIds rows, const SequenceClassifier& model, const JobContext& context,
                    const ValidationOptions& options, std::string loss_name, Score score,
                    ValidationBasis score_basis = {});

  ValidationBasis basis() const override;
  ValidationResult run() override;

 private:
  LabeledIds rows_;
  const SequenceClassifier& model_;
  JobContext context_;
  ValidationOptions options_;
  std::string loss_name_;
  Score score_;
  ValidationBasis score_basis_;
};

}  // namespace gyre
