#include "train/classify.h"

#include <spdlog/spdlog.h>

#include <optional>

#include "core/counted.h"
#include "core/error.h"
#include "models/modules/linear_attention.h"
#include "train/classify_data.h"
#include "train/classify_validation.h"
#include "train/job.h"
#include "train/model_file.h"
#include "train/pretrained.h"
#include "train/trained_task.h"

namespace gyre {
namespace {

class ClassifyModel final : public TrainingModel {
 public:
  explicit ClassifyModel(const ClassifierConfig& config) : model_(config), redraw_(config.encoder.attention) {}

  Parameters& parameters() override { return model_.parameters(); }
  LossResult loss(Tape& tape, const std::any& input) const override {
    return model_.loss(tape, std::any_cast<const LabelledInput&>(input));
  }
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
  if (options.max_length > model->network().longest()) {
    throw UsageError("[--max-length] expected at most the ", model->network().longest(),
                     " positions of the model, got ", options.max_length);
  }
  model->parameters().allocate(options.seed, DType::f32, device);
  if (pretrained != nullptr && !options.from_scratch) fill_stack(model->parameters(), *pretrained);
  return model;
}

// What a run is made from.
struct Beginning {
  ClassifyOptions options;
  EncoderOnlyConfig encoder;
  std::optional<PretrainedEncoder> pretrained;
};

Beginning begin(const ClassifyOptions& options, const EncoderOnlyConfig& encoder) {
  Beginning all{options, encoder, {}};
  if (options.pretrained_model.empty()) return all;
  all.pretrained = load_pretrained(options.pretrained_model);
  all.encoder = all.pretrained->config;
  // Dropout belongs to a training, not to the model: pretraining on much text may have gone without.
  all.encoder.dropout = encoder.dropout;
  all.encoder.attention_dropout = encoder.attention_dropout;
  all.encoder.activation_dropout = encoder.activation_dropout;
  all.options.vocabulary = all.pretrained->vocabulary_file;
  return all;
}

// BERT's rates for fine-tuning, 5e-5 and below, barely move random weights: the model stays at the majority class.
void warn_of_small_rate(const ClassifyOptions& options) {
  const double rate = options.optimizer.learning_rate;
  if (!options.starts_from_random_weights() || rate > 5e-5) return;
  spdlog::warn(
      "--learn-rate {} is for fine-tuning, but this model starts from random weights and may learn nothing: the "
      "default without --pretrained-model is {}",
      rate, ClassifyOptions::kFromScratchRate);
}

TaskParts make_parts(Beginning& begun, const JobPlace& place) {
  const ClassifyOptions& options = begun.options;
  if (place.ranks.rank() == 0) {
    warn_of_small_rate(options);
    if (begun.pretrained)
      spdlog::info("pretrained model: {}; the classification head is newly initialized",
                   describe_model(options.pretrained_model));
  }
  TaskParts parts;
  parts.vocabulary = begun.pretrained ? begun.pretrained->vocabulary : load_vocabulary(options.vocabulary);
  begun.encoder.vocab_size = parts.vocabulary->size();
  auto model =
      make_model(options, begun.encoder, begun.pretrained ? &*begun.pretrained : nullptr, place.kernels.device());
  begun.pretrained.reset();  // its memory is wanted for training
  parts.data = std::make_unique<ClassifyData>(options, begun.encoder, *parts.vocabulary, place.shards);
  parts.task = TrainedTask{options.format, options.valid_metrics, options.max_length}.to_json();
  parts.make_validation = [&options, place, &vocabulary = *parts.vocabulary, &network = model->network()] {
    return std::make_unique<ClassifyValidation>(read_labelled_rows(options.valid_sets.at(0), options, vocabulary),
                                                network, place.kernels, place.ranks, options);
  };
  parts.model = std::move(model);
  return parts;
}

}  // namespace

int train_classify(const ClassifyOptions& options, const EncoderOnlyConfig& encoder, Communicator& ranks) {
  options.validate();
  Beginning begun = begin(options, encoder);
  return run_job(begun.options, ranks, [&](const JobPlace& place) { return make_parts(begun, place); });
}

}  // namespace gyre
