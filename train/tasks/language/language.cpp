#include "gyre/train/tasks/language/language.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/modules/linear_attention.h"
#include "gyre/train/job.h"
#include "gyre/train/piped_text.h"
#include "gyre/train/tasks/initial_weights.h"
#include "gyre/train/tasks/language/language_data.h"
#include "gyre/train/tasks/language/language_stages.h"
#include "gyre/train/tasks/language/language_validation.h"

namespace gyre {
namespace {

constexpr uint64_t kValidationSeed = 0;  // seed of the masks: the same for runs with different seeds

class LanguageModel final : public TrainingModel {
 public:
  explicit LanguageModel(const EncoderOnlyConfig& config) : model_(config), redraw_(config.attention) {}

  Parameters& parameters() override { return model_.parameters(); }
  void before_update(uint64_t seed, uint64_t update) override { redraw_.before_update(parameters(), seed, update); }
  std::string describe() const override { return model_.config().describe(); }
  Json config() const override { return model_.config().to_json(); }

  const EncoderOnly& network() const { return model_; }

 private:
  EncoderOnly model_;
  RandomVectorRedraw redraw_;
};

// The differences between masked and causal models.
struct LanguageObjective {
  SampleOptions::Task task;
  std::function<MakeInput(const Vocabulary& vocabulary, uint64_t seed)> input_maker;
  RunOptions options;
};

RunOptions run_options_of(const LanguageOptions& o) {
  RunOptions options{{"=documents", o.documents},
                     {"=fill", o.fill},
                     {"=across-documents", o.across_documents ? "on" : "off"},
                     {"=valid-share", concat(o.validation_share)}};
  if (!o.train_weights.empty()) options["=train-weights"] = weights_text(o.train_weights);
  if (o.z_loss > 0) options["z-loss"] = concat(o.z_loss);  // older runs do not have it
  if (o.line_ends == "keep" || o.line_ends == "space") options[std::string(kLineEndsOption)] = o.line_ends;
  if (o.documents_attend != "across") options["=documents-attend"] = o.documents_attend;  // earlier versions lack it
  return options;
}

std::unique_ptr<LanguageModel> make_model(const LanguageOptions& options, const EncoderOnlyConfig& config,
                                          const Vocabulary& vocabulary, const JobContext& context) {
  auto model = std::make_unique<LanguageModel>(config);
  require_positions(options, model->network().longest());
  allocate_initial_weights(model->parameters(), options, options.pretrained_model, vocabulary, context);
  return model;
}

TaskParts make_parts(const LanguageOptions& given, EncoderOnlyConfig config, const LanguageObjective& objective,
                     const JobContext& context) {
  TaskParts parts;
  parts.vocabulary = load_training_vocabulary(given, given.tokenizer);
  const Vocabulary& vocabulary = *parts.vocabulary.vocabulary;
  const auto resolved = std::make_shared<LanguageOptions>(given);
  resolved->line_ends = line_ends_of_run(given, vocabulary);
  const LanguageOptions& options = *resolved;
  for (const LanguageStage& stage : options.stages) share_piped_text(stage.train_sets, context.ranks);
  config.vocab_size = vocabulary.size();
  auto model = make_model(options, config, vocabulary, context);
  const Corpora corpora = open_corpora(options, vocabulary);
  const EncoderOnly& network = model->network();
  parts.make_validation = [resolved, &objective, &network, context, corpora, &vocabulary] {
    return std::make_unique<LanguageValidation>(open_validation_sets(*resolved, objective.task, corpora, vocabulary),
                                                objective.input_maker(vocabulary, kValidationSeed), *resolved,
                                                vocabulary, network, context);
  };
  const MakeStageData make_data = [&objective, &network, &vocabulary, micro_batches = context.micro_batches](
                                      const LanguageOptions& o, const Corpora& of_stage) {
    const auto loss = [&network, z_loss = o.z_loss](Tape& tape, const MaskedInput& input) {
      return network.loss(tape, input, {.z_loss = z_loss});
    };
    return std::make_unique<LanguageData>(of_stage, objective.task, objective.input_maker(vocabulary, o.seed), loss, o,
                                          micro_batches);
  };
  parts.options = run_options_of(options);
  const std::vector<Corpora> all_corpora = open_stage_corpora(options, corpora, vocabulary);
  parts.data = make_training_data(options, all_corpora, make_data);
  parts.stages = run_stages(options);
  parts.options.merge(stage_run_options(options, all_corpora));
  parts.options.insert(objective.options.begin(), objective.options.end());
  if (!options.pretrained_model.empty()) parts.options["pretrained-model"] = options.pretrained_model.string();
  parts.model = std::move(model);
  return parts;
}

std::optional<ReplayResult> train(const LanguageOptions& options, const EncoderOnlyConfig& config,
                                  const LanguageObjective& objective, Communicator& ranks) {
  return run_job(options, ranks,
                 [&](const JobContext& context) { return make_parts(options, config, objective, context); });
}

}  // namespace

std::optional<ReplayResult> train_masked_language(const Resolved<MaskedOptions>& options,
                                                  const EncoderOnlyConfig& config, Communicator& ranks) {
  require(!config.causal, "[mlm] expected a bidirectional model, got a causal one");
  const MaskingOptions masking = options->masking();
  const LanguageObjective objective{SampleOptions::Task::masked,
                                    [masking](const Vocabulary& vocabulary, uint64_t seed) {
                                      return masked_inputs(Masking(MaskingVocabulary::of(vocabulary), masking, seed));
                                    },
                                    {{"=mask-share", concat(options->mask_share)},
                                     {"=mask-draw", options->mask_draw},
                                     {"=whole-words", options->whole_words ? "on" : "off"}}};
  return train(*options, config, objective, ranks);
}

std::optional<ReplayResult> train_causal_language(const Resolved<LanguageOptions>& options,
                                                  const EncoderOnlyConfig& config, Communicator& ranks) {
  require(config.causal, "[lm] expected a causal model, got a bidirectional one");
  const LanguageObjective objective{
      SampleOptions::Task::next, [](const Vocabulary&, uint64_t) { return next_token_inputs(); }, {}};
  return train(*options, config, objective, ranks);
}

}  // namespace gyre
