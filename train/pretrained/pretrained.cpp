#include "gyre/train/pretrained/pretrained.h"

#include "gyre/data/tokenizer/hugging_face_vocabulary.h"
#include "gyre/models/encoder_only.h"
#include "gyre/models/sequence_classifier.h"
#include "gyre/train/pretrained/hugging_face.h"
#include "gyre/train/pretrained/trained_model.h"

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
      [&](auto& pretrained) {
        using Model = typename std::decay_t<decltype(pretrained)>::element_type;
        const std::shared_ptr<Model> network = std::move(pretrained);
        return PretrainedEncoder{encoder_of(network->config()), read.vocabulary,
                                 directory / hugging_face_copy_name(*read.vocabulary),
                                 std::shared_ptr<Parameters>(network, &network->parameters())};
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

}  // namespace gyre
