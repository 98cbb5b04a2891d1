#include "tools/trained_model.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"
#include "train/model_file.h"
#include "train/run_directory.h"

namespace gyre {

namespace {

EncoderDecoderConfig read_config(const Path& run) {
  const Path file = config_path(run);
  const auto json = nlohmann::ordered_json::parse(read_file(file), nullptr, false);
  require(!json.is_discarded(), file.string(), ": expected JSON");
  return EncoderDecoderConfig::from_json(json);
}

// run/vocab.*: training leaves exactly one.
Path vocabulary_of(const Path& run) {
  std::vector<Path> found;
  for (const auto& entry : std::filesystem::directory_iterator(run))
    if (entry.path().stem() == "vocab") found.push_back(entry.path());
  require(found.size() == 1, "[model] ", run.string(), ": expected one vocab.* file, found ", found.size(),
          "; choose one with --vocab");
  return found.front();
}

}  // namespace

TrainedModel load_trained_model(const Path& model, const std::string& which, const Path& vocabulary, Device device) {
  const Path run = find_run(model);
  const EncoderDecoderConfig config = read_config(run);
  const Path vocabulary_file = vocabulary.empty() ? vocabulary_of(run) : vocabulary;
  TrainedModel trained{load_vocabulary(vocabulary_file), nullptr};
  require(trained.vocabulary->size() == config.vocab_size, "[vocabulary] ", vocabulary_file.string(),
          " does not fit the model: expected ", config.vocab_size, " pieces as in ", config_path(run).string(),
          ", got ", trained.vocabulary->size());
  trained.model = std::make_unique<EncoderDecoder>(config);
  trained.model->parameters().allocate(0, DType::f32, device);  // the initial values are overwritten
  load_model_weights(model, trained.model->parameters(), which);
  return trained;
}

}  // namespace gyre
