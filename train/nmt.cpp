#include "train/nmt.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "models/encoder_decoder.h"
#include "train/job.h"
#include "train/nmt_data.h"
#include "train/nmt_validation.h"

namespace gyre {
namespace {

class TranslationModel final : public TrainingModel {
 public:
  TranslationModel(const EncoderDecoderConfig& config, double label_smoothing)
      : model_(config), label_smoothing_(label_smoothing) {}

  Parameters& parameters() override { return model_.parameters(); }
  LossResult loss(Tape& tape, const std::any& input) const override {
    return model_.loss(tape, std::any_cast<const PairInput&>(input), label_smoothing_);
  }
  std::string describe() const override { return model_.config().describe(); }
  nlohmann::ordered_json config() const override { return model_.config().to_json(); }

  const EncoderDecoder& network() const { return model_; }

 private:
  EncoderDecoder model_;
  double label_smoothing_;
};

TaskParts make_parts(const NmtOptions& options, EncoderDecoderConfig config, const JobPlace& place) {
  TaskParts parts;
  parts.vocabulary = load_vocabulary(options.vocabulary);
  config.vocab_size = parts.vocabulary->size();
  parts.data = std::make_unique<NmtData>(options, *parts.vocabulary, place.shards);
  auto model = std::make_unique<TranslationModel>(config, options.label_smoothing);
  model->parameters().allocate(options.seed, DType::f32, place.kernels.device());
  parts.options = {{"label-smoothing", concat(options.label_smoothing)}};
  parts.make_validation = [&options, place, &vocabulary = *parts.vocabulary, &network = model->network()] {
    return std::make_unique<NmtValidation>(read_validation_set(options, vocabulary, network.longest()), vocabulary,
                                           network, place.kernels, place.ranks, options);
  };
  parts.model = std::move(model);
  return parts;
}

}  // namespace

int train_nmt(const NmtOptions& options, const EncoderDecoderConfig& config, Communicator& ranks) {
  options.validate();
  return run_job(options, ranks, [&](const JobPlace& place) { return make_parts(options, config, place); });
}

}  // namespace gyre
