#include "gyre/train/tasks/translation/nmt.h"

#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/models/encoder_decoder.h"
#include "gyre/train/job.h"
#include "gyre/train/tasks/initial_weights.h"
#include "gyre/train/tasks/require_positions.h"
#include "gyre/train/tasks/translation/nmt_data.h"
#include "gyre/train/tasks/translation/nmt_validation.h"

namespace gyre {
namespace {

class TranslationModel final : public TrainingModel {
 public:
  explicit TranslationModel(const EncoderDecoderConfig& config) : model_(config) {}

  Parameters& parameters() override { return model_.parameters(); }
  std::string describe() const override { return model_.config().describe(); }
  Json config() const override { return model_.config().to_json(); }

  const EncoderDecoder& network() const { return model_; }

 private:
  EncoderDecoder model_;
};

TaskParts make_parts(const NmtOptions& options, EncoderDecoderConfig config, const JobContext& context) {
  TaskParts parts;
  parts.vocabulary = load_training_vocabulary(options, options.tokenizer);
  const Vocabulary& vocabulary = *parts.vocabulary.vocabulary;
  config.vocab_size = vocabulary.size();
  auto model = std::make_unique<TranslationModel>(config);
  require_positions(options.data.max_length, model->network().longest());
  const auto loss = [&network = model->network(), &options](Tape& tape, const PairInput& input) {
    return options.r_drop > 0 ? network.r_drop_loss(tape, input, options.label_smoothing, options.r_drop)
                              : network.loss(tape, input, options.label_smoothing);
  };
  parts.data = std::make_unique<NmtData>(options, vocabulary, loss, context.micro_batches);
  allocate_initial_weights(model->parameters(), options, options.pretrained_model, vocabulary, context);
  parts.make_validation = [&options, context, &vocabulary, &network = model->network()] {
    return std::make_unique<NmtValidation>(read_validation_set(options, vocabulary, network.longest()), vocabulary,
                                           network, context, options);
  };
  parts.model = std::move(model);
  return parts;
}

}  // namespace

std::optional<ReplayResult> train_nmt(const Resolved<NmtOptions>& options, const EncoderDecoderConfig& config,
                                      Communicator& ranks) {
  return run_job(*options, ranks, [&](const JobContext& context) { return make_parts(*options, config, context); });
}

}  // namespace gyre
