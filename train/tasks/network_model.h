// The TrainingModel of a network, such as EncoderDecoder, and of its adapters, if they are trained instead of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gyre/core/io/json.h"
#include "gyre/models/modules/lora.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/pretrained/trained_model.h"
#include "gyre/train/resume.h"
#include "gyre/train/task.h"
#include "gyre/train/tasks/initial_weights.h"

namespace gyre {

template <class Network>
class NetworkModel : public TrainingModel {
 public:
  explicit NetworkModel(const typename Network::Config& config) : network_(config) {}

  // Calls allocate_initial_weights(). Returns the record of the adapters, if there are any.
  std::optional<LoraRecord> allocate(const TrainOptions& options, InitialWeights from, const Vocabulary& vocabulary,
                                     const JobContext& context) {
    if (!from.pretrained.empty() && !continues(options.start)) {
      auto before = read_config<typename Network::Config>(find_run(find_model_file(from.pretrained)));
      before.vocab_size = network_.config().vocab_size;  // the vocabularies are compared themselves
      if constexpr (requires { before.target_vocab_size; })
        before.target_vocab_size = network_.config().target_vocab_size;
      from.changes = config_changes(before.to_json(), config()).of_model;
      from.other_positions = before.position.encoding != network_.config().position.encoding;
    }
    TrainedAdapters trained = allocate_initial_weights(network_.parameters(), options, from, vocabulary, context);
    adapters_ = std::move(trained.adapters);
    return std::move(trained.record);
  }

  Parameters& parameters() override { return adapters_ ? adapters_->parameters() : network_.parameters(); }
  std::string describe() const override {
    const std::string text = network_.config().describe();
    return adapters_
               ? concat(text, ", ", adapters_->describe(), " of ", network_.parameters().elements(), " parameters")
               : text;
  }
  Json config() const override { return network_.config().to_json(); }

  const Network& network() const { return network_; }

 private:
  Network network_;
  std::unique_ptr<LoraAdapters> adapters_;
};

}  // namespace gyre
