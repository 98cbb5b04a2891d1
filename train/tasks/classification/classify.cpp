#include "gyre/train/tasks/classification/classify.h"

#include <spdlog/spdlog.h>

#include <optional>

#include "gyre/core/counted.h"
#include "gyre/core/error.h"
#include "gyre/models/modules/linear_attention.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/job.h"
#include "gyre/train/pretrained/pretrained.h"
#include "gyre/train/pretrained/trained_task.h"
#include "gyre/train/tasks/classification/classify_data.h"
#include "gyre/train/tasks/classification/classify_validation.h"
#include "gyre/train/tasks/require_positions.h"

namespace gyre {
namespace {

class ClassifyModel final : public TrainingModel {
 public:
  explicit ClassifyModel(const ClassifierConfig& config) : model_(config), redraw_(config.encoder.attention) {}

  Parameters& parameters() override { return model_.parameters(); }
  std::string loss_name() const override { return gyre::loss_name(model_.config()); }
  void before_update(uint64_t seed, uint64_t update) override { redraw_.before_update(parameters(), seed, update); }
  std::string describe() const override {
    const ClassifierConfig& c = model_.config();
    return concat(c.encoder.describe(), ", head of ", enum_name(c.head), " with ", counted(c.classes, "output"));
  }
  nlohmann::ordered_json config() const override { return model_.config().to_json(); }

  const SequenceClassifier& network() const { return model_; }

 private:
  SequenceClassifier model_;
  RandomVectorRedraw redraw_;
};

ClassifierConfig classifier_config(const ClassifyOptions& options, const EncoderOnlyConfig& encoder) {
  ClassifierConfig config;
  config.encoder = encoder;
  const std::string own = encoder.position.encoding == "rope" ? "roformer" : "bert";
  config.head = parse_enum<ClassifierHead>("--head", options.head == "auto" ? own : options.head);
  config.classes = options.format.is_regression() ? 1 : int64_t(options.format.classes.size());
  config.dropout = options.classifier_dropout;
  return config;
}

std::unique_ptr<ClassifyModel> make_model(const ClassifyOptions& options, const EncoderOnlyConfig& encoder,
                                          const PretrainedEncoder* pretrained, Device device) {
  auto model = std::make_unique<ClassifyModel>(classifier_config(options, encoder));
  require_positions(options.data.max_length, model->network().longest());
  model->parameters().allocate(options.seed, DType::f32, device);
  if (pretrained != nullptr && !options.from_scratch) copy_encoder_weights(model->parameters(), *pretrained);
  return model;
}

// The encoder of a run, with the pretrained model if there is one.
struct InitialModel {
  EncoderOnlyConfig encoder;
  std::optional<PretrainedEncoder> pretrained;
};

InitialModel initial_model(const ClassifyOptions& options, const EncoderOnlyConfig& encoder) {
  if (options.pretrained_model.empty()) return {encoder, {}};
  InitialModel model{encoder, load_pretrained(options.pretrained_model)};
  model.encoder = model.pretrained->config;
  // Dropout is a property of the training and not of the model: pretraining may have used none.
  model.encoder.dropout = encoder.dropout;
  model.encoder.attention_dropout = encoder.attention_dropout;
  model.encoder.activation_dropout = encoder.activation_dropout;
  return model;
}

// The learning rates of BERT for fine-tuning, 5e-5 and below, barely change random weights: the model keeps predicting
// the majority class.
void warn_of_small_rate(const ClassifyOptions& options) {
  const double rate = options.optimizer.schedule.learning_rate;
  if (!options.starts_from_random_weights() || rate > 5e-5) return;
  spdlog::warn(
      "--learn-rate {} is for fine-tuning, but this model starts from random weights and may learn nothing: the "
      "default without --pretrained-model is {}",
      rate, ClassifyOptions::kFromScratchRate);
}

TaskParts make_parts(const ClassifyOptions& options, InitialModel& initial, const JobContext& context) {
  if (context.ranks.rank() == 0) {
    warn_of_small_rate(options);
    if (initial.pretrained)
      spdlog::info("pretrained model: {}; the classification head is newly initialized",
                   describe_model(options.pretrained_model));
  }
  TaskParts parts;
  parts.vocabulary =
      initial.pretrained
          ? VocabularyFile{initial.pretrained->vocabulary_file, initial.pretrained->vocabulary}
          : VocabularyFile{options.data.vocabulary, load_vocabulary(options.data.vocabulary, options.tokenizer)};
  const Vocabulary& vocabulary = *parts.vocabulary.vocabulary;
  initial.encoder.vocab_size = vocabulary.size();
  auto model = make_model(options, initial.encoder, initial.pretrained ? &*initial.pretrained : nullptr,
                          context.kernels.device());
  initial.pretrained.reset();  // frees its memory
  const auto loss = [&network = model->network()](Tape& tape, const LabeledInput& input) {
    return network.loss(tape, input);
  };
  parts.data = std::make_unique<ClassifyData>(options, initial.encoder, vocabulary, loss, context.micro_batches);
  parts.task = TrainedTask{options.format, options.validation.metrics, options.data.max_length}.to_json();
  parts.make_validation = [&options, context, &vocabulary, &network = model->network()] {
    return std::make_unique<ClassifyValidation>(read_labeled_rows(options.data.valid_sets.at(0), options, vocabulary),
                                                network, context, options.validation);
  };
  parts.model = std::move(model);
  return parts;
}

}  // namespace

std::optional<ReplayResult> train_classify(const Resolved<ClassifyOptions>& options, const EncoderOnlyConfig& encoder,
                                           Communicator& ranks) {
  InitialModel initial = initial_model(*options, encoder);
  return run_job(*options, ranks, [&](const JobContext& context) { return make_parts(*options, initial, context); });
}

}  // namespace gyre
