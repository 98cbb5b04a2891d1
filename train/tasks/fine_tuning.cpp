#include "gyre/train/tasks/fine_tuning.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "gyre/core/clock.h"
#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/core/random.h"
#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/hugging_face/config.h"
#include "gyre/models/modules/linear_attention.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/pretrained/hugging_face.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/initial_weights.h"

namespace gyre {

namespace {

template <class Model>
PretrainedEncoder load_run(const Path& model) {
  auto trained = load_trained_model<Model>(model, "", {}, Device{});
  const std::shared_ptr<Model> network = std::move(trained.model);
  return {encoder_of(network->config()), trained.vocabulary, find_vocabulary(find_run(model)),
          std::shared_ptr<Parameters>(network, &network->parameters())};
}

PretrainedEncoder load_hugging_face(const Path& directory) {
  HuggingFaceModel read = read_hugging_face(directory);
  const auto* model = std::get_if<std::unique_ptr<EncoderOnly>>(&read.model);
  require(model == nullptr || !(*model)->config().causal, "[pretrained] ", directory.string(),
          ": expected a bidirectional encoder, got a decoder");
  require(read.vocabulary != nullptr, "[pretrained] ", directory.string(),
          ": expected a tokenizer, found none: ", read.notes.empty() ? "" : read.notes.back());
  return std::visit(
      [&](auto& pretrained) -> PretrainedEncoder {
        using Model = typename std::decay_t<decltype(pretrained)>::element_type;
        if constexpr (std::is_same_v<Model, EncoderDecoder>) {
          throw Error("[pretrained] ", directory.string(),
                      ": expected a bidirectional encoder, got a translation model");
        } else {
          const std::shared_ptr<Model> network = std::move(pretrained);
          return PretrainedEncoder{encoder_of(network->config()), read.vocabulary,
                                   directory / hugging_face_copy_name(*read.vocabulary),
                                   std::shared_ptr<Parameters>(network, &network->parameters())};
        }
      },
      read.model);
}

}  // namespace

PretrainedEncoder load_pretrained(const Path& model) {
  if (is_hugging_face(model)) return load_hugging_face(model);
  const bool classifier = model_kind(find_run(model)) == ClassifierConfig::kModel;
  return classifier ? load_run<SequenceClassifier>(model) : load_run<EncoderOnly>(model);
}

void copy_encoder_weights(Parameters& classifier, const PretrainedEncoder& encoder) {
  for (const Parameter& p : classifier) {
    if (p.name.starts_with(kClassificationHead)) continue;
    const Parameter* source = encoder.weights->find(p.name);
    require(source != nullptr, "[pretrained] expected a tensor ", p.name, ", found none");
    p.value.copy_from(source->value);
  }
}

namespace {

class ClassifierModel final : public TrainingModel {
 public:
  ClassifierModel(const ClassifierConfig& config, std::string loss_name)
      : model_(config), loss_name_(std::move(loss_name)), redraw_(config.encoder.attention) {}

  Parameters& parameters() override { return model_.parameters(); }
  std::string loss_name() const override { return loss_name_; }
  void before_update(uint64_t seed, uint64_t update) override { redraw_.before_update(parameters(), seed, update); }
  std::string describe() const override {
    const ClassifierConfig& c = model_.config();
    return concat(c.encoder.describe(), ", head of ", enum_name(c.head), " with ", counted(c.classes, "output"));
  }
  Json config() const override { return model_.config().to_json(); }

  const SequenceClassifier& network() const { return model_; }

 private:
  SequenceClassifier model_;
  std::string loss_name_;
  RandomVectorRedraw redraw_;
};

// The learning rates of BERT for fine-tuning, 5e-5 and below, barely change random weights: the model keeps predicting
// the majority class.
void warn_of_small_rate(const FineTuningOptions& options) {
  const double rate = options.optimizer.schedule.learning_rate;
  if (!options.starts_from_random_weights() || rate > 5e-5) return;
  spdlog::warn(
      "--learn-rate {} is for fine-tuning, but this model starts from random weights and may learn nothing: the "
      "default without --pretrained-model is {}",
      rate, FineTuningOptions::kFromScratchRate);
}

}  // namespace

ClassifierConfig classifier_config(const FineTuningOptions& options, const EncoderOnlyConfig& encoder,
                                   int64_t outputs) {
  ClassifierConfig config;
  config.encoder = encoder;
  config.head = options.head ? *options.head : head_of(encoder);
  config.classes = outputs;
  config.dropout = options.classifier_dropout;
  return config;
}

InitialEncoder initial_encoder(const FineTuningOptions& options, const EncoderOnlyConfig& encoder) {
  if (options.pretrained_model.empty()) return {encoder, {}};
  InitialEncoder initial;
  if (starts_from(options.pretrained_model, options.start)) {
    require_other_run(options.pretrained_model, options.start);
    initial.pretrained = load_pretrained(options.pretrained_model);
    initial.config = initial.pretrained->config;
  } else {
    initial.config = read_config<ClassifierConfig>(options.start.directory).encoder;
  }
  // Dropout is a property of the training and not of the model: pretraining may have used none.
  initial.config.dropout = encoder.dropout;
  initial.config.attention_dropout = encoder.attention_dropout;
  initial.config.activation_dropout = encoder.activation_dropout;
  return initial;
}

const SequenceClassifier& start_classifier(TaskParts& parts, const FineTuningOptions& options, InitialEncoder& initial,
                                           int64_t outputs, const std::string& loss_name, const JobContext& context) {
  if (context.ranks.rank() == 0) {
    warn_of_small_rate(options);
    if (initial.pretrained)
      spdlog::info("pretrained model: {}; the classification head is newly initialized",
                   describe_model(options.pretrained_model));
  }
  parts.vocabulary = initial.pretrained
                         ? VocabularyFile{initial.pretrained->vocabulary_file, initial.pretrained->vocabulary}
                         : load_training_vocabulary(options, options.tokenizer);
  initial.config.vocab_size = parts.vocabulary.vocabulary->size();
  auto model = std::make_unique<ClassifierModel>(classifier_config(options, initial.config, outputs), loss_name);
  const SequenceClassifier& network = model->network();
  require_positions(options.data.max_length, network.longest());
  model->parameters().allocate(options.seed, DType::f32, context.kernels.device());
  if (initial.pretrained && !options.from_scratch) copy_encoder_weights(model->parameters(), *initial.pretrained);
  initial.pretrained.reset();  // frees its memory
  parts.model = std::move(model);
  return network;
}

LabeledData::LabeledData(LabeledItems items, const FineTuningOptions& options, const EncoderOnlyConfig& encoder,
                         LossFunction<LabeledInput> loss, int micro_batches)
    : file_(options.data.train_sets.at(0).string()),
      items_(std::move(items)),
      encoder_(encoder),
      seed_(mix(options.seed, hash_name("swapped texts"))),
      batches_({file_, size(), 1, [this](size_t item, int) { return length(item); }}, options.batch, options.seed,
               micro_batches),
      loss_(std::move(loss)) {}

std::string LabeledData::describe() const {
  uint64_t ids = 0;
  for (size_t item = 0; item < size(); ++item) ids += length(item);
  return concat(counted(size(), items_.name), ", ", counted(ids, "token"));
}

uint64_t LabeledData::length(size_t item) const {
  uint64_t ids = 0;
  for (size_t row = 0; row < items_.rows_per_item; ++row)
    ids += uint64_t(items_.rows.length(item * items_.rows_per_item + row));
  return ids;
}

bool LabeledData::swaps(uint32_t item) const {
  return items_.swap > 0 && random_uniform(seed_, mix(batches_.epoch(), item), 0) < items_.swap;
}

LabeledInput LabeledData::input(std::span<const uint32_t> items) const {
  const uint32_t per_item = items_.rows_per_item;
  std::vector<uint32_t> rows;
  for (const uint32_t item : items)
    for (uint32_t row = 0; row < per_item; ++row) rows.push_back(item * per_item + row);
  return labeled_input(items_.rows.batch(rows, [&](uint32_t row) { return swaps(row / per_item); }), encoder_);
}

RankBatch LabeledData::batch(size_t i, MicroBatchRange own) const {
  const std::span<const uint32_t> indices = batches_.plan().batch(i);
  RankBatch batch;
  batch.sentences = indices.size();
  batch.predictions = items_.predictions_per_item * indices.size();
  for (const uint32_t item : indices) batch.target_tokens += length(item);
  const std::vector<std::vector<uint32_t>> micro_batches = batches_.micro_batches(indices);
  for (int m = own.begin; m < own.end; ++m) {
    const std::vector<uint32_t>& items = micro_batches[size_t(m)];
    batch.micro_batches.push_back(make_micro_batch(loss_, input(items), items_.predictions_per_item * items.size()));
  }
  return batch;
}

LabeledValidation::LabeledValidation(LabeledIds rows, const SequenceClassifier& model, const JobContext& context,
                                     const ValidationOptions& options, std::string loss_name, Score score,
                                     ValidationBasis score_basis)
    : rows_(std::move(rows)),
      model_(model),
      context_(context),
      options_(options),
      loss_name_(std::move(loss_name)),
      score_(std::move(score)),
      score_basis_(std::move(score_basis)) {}

ValidationBasis LabeledValidation::basis() const {
  ValidationBasis basis = score_basis_;
  basis["valid-sets"] = hexadecimal(rows_.checksum());
  return basis;
}

ValidationResult LabeledValidation::run() {
  const Stopwatch watch;
  const Predictions predictions =
      predict(model_, rows_, options_.mini_batch, context_.precision, context_.kernels, context_.ranks);
  ValidationResult result;
  for (const std::string& metric : options_.metrics) result.metrics[metric] = score_(metric, predictions, rows_);
  result.loss = result.metrics[loss_name_] = score_(loss_name_, predictions, rows_);
  result.seconds = watch.seconds();
  return result;
}

}  // namespace gyre
