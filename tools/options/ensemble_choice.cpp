#include "tools/options/ensemble_choice.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/options/model_choice.h"

namespace gyre {

void EnsembleChoice::add_rows(OptionTable& table) {
  table_ = &table;
  table.add("--model,--models,-m", models_, "DIRECTORY...",
            "run directory, a checkpoint in it, or its model.safetensors; several models form an ensemble");
  table.required("model");
  table.add("--checkpoint", checkpoints_, "NAME...",
            "checkpoint of a run: best, last, average, a step-... directory or a path; one for all models or one for "
            "each, or several of one run as an ensemble; default: best if there is one, else last");
  table.add("--vocab,--vocabs,-v", vocabulary_, "FILE", "the vocabulary of the model, if the run has no copy of it");
  table.add("--weights", weights_, "NUMBER...", "weights of the models of an ensemble; default: equal");
  table.add_enum("--ensemble-mean", mean_, "mean of the models' distributions");
}

void EnsembleChoice::check() const {
  const size_t models = models_.size(), checkpoints = checkpoints_.size();
  expect(checkpoints <= 1 || models == 1 || checkpoints == models, "--checkpoint",
         concat("one name, or one for each of ", models, " models"), checkpoints);
  for (const std::string& name : checkpoints_) expect(!name.empty(), "--checkpoint", "a name", "an empty one");
  const size_t size = std::max(models, checkpoints);
  for (const char* name : {"weights", "ensemble-mean"})
    table_->reject_unused(name, size > 1, "there is only one model");
  expect(weights_.empty() || weights_.size() == size, "--weights", concat("a number for each of ", size, " models"),
         weights_.size());
  for (const double weight : weights_)
    expect(std::isfinite(weight) && weight > 0, "--weights", "positive numbers", weight);
}

std::vector<std::pair<Path, std::string>> EnsembleChoice::members() const {
  std::vector<std::pair<Path, std::string>> members;
  for (size_t i = 0; i < std::max(models_.size(), checkpoints_.size()); ++i) {
    const bool has_own = checkpoints_.size() > 1;
    members.emplace_back(models_[models_.size() > 1 ? i : 0], has_own                ? checkpoints_[i]
                                                              : checkpoints_.empty() ? ""
                                                                                     : checkpoints_.front());
  }
  return members;
}

void EnsembleChoice::print() const {
  for (const auto& [model, checkpoint] : members()) print_model_choice(model, checkpoint);
}

LoadedEnsemble EnsembleChoice::load(Device device) const {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::vector<std::unique_ptr<EncoderDecoder>> models;
  std::vector<const EncoderDecoder*> pointers;
  for (const auto& [path, checkpoint] : members()) {
    auto trained = load_trained_model<EncoderDecoder>(path, checkpoint, vocabulary_, device);
    if (!vocabulary) vocabulary = trained.vocabulary;
    require(trained.vocabulary->fingerprint() == vocabulary->fingerprint(),
            "[ensemble] expected models with the same vocabulary: that of ", path.string(), " has fingerprint ",
            hexadecimal(trained.vocabulary->fingerprint()), ", that of ", models_.front().string(), " has ",
            hexadecimal(vocabulary->fingerprint()));
    pointers.push_back(trained.model.get());
    models.push_back(std::move(trained.model));
  }
  return {std::move(vocabulary), std::move(models), Ensemble(std::move(pointers), weights_, mean_)};
}

}  // namespace gyre
