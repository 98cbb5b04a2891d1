#include "gyre/train/tasks/fine_tuning.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/models/hugging_face/config.h"
#include "gyre/models/modules/linear_attention.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/tasks/initial_weights.h"
#include "gyre/train/tasks/require_positions.h"

namespace gyre {
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
  config.head = options.head == "auto" ? head_of(encoder) : parse_enum<ClassifierHead>("--head", options.head);
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

}  // namespace gyre
