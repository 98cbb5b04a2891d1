#include "train/language.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "models/encoder_only.h"
#include "models/modules/linear_attention.h"
#include "train/job.h"
#include "train/language_data.h"
#include "train/language_validation.h"

namespace gyre {
namespace {

constexpr uint64_t kValidationSeed = 0;  // of the masks: runs of other seeds are scored on the same ones

class LanguageModel final : public TrainingModel {
 public:
  explicit LanguageModel(const EncoderOnlyConfig& config) : model_(config), redraw_(config.attention) {}

  Parameters& parameters() override { return model_.parameters(); }
  LossResult loss(Tape& tape, const std::any& input) const override {
    return model_.loss(tape, std::any_cast<const MaskedInput&>(input));
  }
  void before_update(uint64_t seed, uint64_t update) override { redraw_.before_update(parameters(), seed, update); }
  std::string describe() const override { return model_.config().describe(); }
  nlohmann::ordered_json config() const override { return model_.config().to_json(); }

  const EncoderOnly& network() const { return model_; }

 private:
  EncoderOnly model_;
  RandomVectorRedraw redraw_;
};

// What masked and causal models differ in.
struct Prediction {
  SampleOptions::Task task;
  std::function<MakeShard(const Vocabulary& vocabulary, uint64_t seed)> make_shards;
  RunOptions options;
};

RunOptions run_options_of(const LanguageOptions& o) {
  return {{"=documents", o.documents},
          {"=fill", o.fill},
          {"=across-documents", o.across_documents ? "on" : "off"},
          {"=valid-share", concat(o.validation_share)}};
}

std::unique_ptr<LanguageModel> make_model(const LanguageOptions& options, const EncoderOnlyConfig& config,
                                          Device device) {
  auto model = std::make_unique<LanguageModel>(config);
  require(options.max_length <= model->network().longest(), "[max-length] the model has positions for ",
          model->network().longest(), " tokens, got ", options.max_length, "; see --max-positions");
  model->parameters().allocate(options.seed, DType::f32, device);
  return model;
}

TaskParts make_parts(const LanguageOptions& options, EncoderOnlyConfig config, const Prediction& prediction,
                     const JobPlace& place) {
  TaskParts parts;
  parts.vocabulary = load_vocabulary(options.vocabulary);
  config.vocab_size = parts.vocabulary->size();
  auto model = make_model(options, config, place.kernels.device());
  SharedSamples samples = open_training_samples(options, prediction.task, *parts.vocabulary);
  parts.make_validation = [&options, &prediction, place, samples, &vocabulary = *parts.vocabulary, &model = *model] {
    return std::make_unique<LanguageValidation>(open_validation_samples(options, samples, vocabulary),
                                                prediction.make_shards(vocabulary, kValidationSeed), options, model,
                                                place.kernels, place.ranks);
  };
  parts.data = std::make_unique<LanguageData>(
      std::move(samples), prediction.make_shards(*parts.vocabulary, options.seed), options, place.shards);
  parts.options = run_options_of(options);
  parts.options.insert(prediction.options.begin(), prediction.options.end());
  parts.model = std::move(model);
  return parts;
}

int train(const LanguageOptions& options, const EncoderOnlyConfig& config, const Prediction& prediction,
          Communicator& ranks) {
  return run_job(options, ranks, [&](const JobPlace& place) { return make_parts(options, config, prediction, place); });
}

}  // namespace

int train_masked_language(const MaskedOptions& options, const EncoderOnlyConfig& config, Communicator& ranks) {
  options.validate();
  require(!config.causal, "[mlm] a causal model cannot see what follows a mask");
  const MaskingOptions masking{.share = options.mask_share,
                               .draw = MaskingOptions::parse_draw(options.mask_draw),
                               .whole_words = options.whole_words};
  const Prediction prediction{SampleOptions::Task::masked,
                              [masking](const Vocabulary& vocabulary, uint64_t seed) {
                                return masked_shards(Masking(MaskedIds::of(vocabulary), masking, seed));
                              },
                              {{"=mask-share", concat(options.mask_share)},
                               {"=mask-draw", options.mask_draw},
                               {"=whole-words", options.whole_words ? "on" : "off"}}};
  return train(options, config, prediction, ranks);
}

int train_causal_language(const LanguageOptions& options, const EncoderOnlyConfig& config, Communicator& ranks) {
  options.validate();
  require(config.causal, "[lm] expected a causal model");
  const Prediction prediction{
      SampleOptions::Task::next, [](const Vocabulary&, uint64_t) { return next_token_shards(); }, {}};
  return train(options, config, prediction, ranks);
}

}  // namespace gyre
