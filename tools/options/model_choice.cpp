#include "tools/options/model_choice.h"

#include <algorithm>
#include <cmath>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/tokenizer/tokenizer_choice.h"
#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/command_line/messages.h"

namespace gyre {

void add_model_rows(OptionTable& table, Path& model, std::string& checkpoint) {
  table.add("--model,-m", model, "DIRECTORY", "run directory, a checkpoint in it, or its model.safetensors");
  table.required("model");
  add_checkpoint_row(table, checkpoint);
}

void add_checkpoint_row(OptionTable& table, std::string& checkpoint) {
  table.add(
      "--checkpoint", checkpoint, "NAME",
      "checkpoint of a run: best, last, average, a step-... directory or a path; default: best if there is one, else "
      "last");
}

void print_model_choice(const Path& model, const std::string& checkpoint) {
  print_message(concat("model: ", describe_model(model, checkpoint)));
}

void require_language_model(const Path& model) {
  const std::string kind = model_kind(find_run(model));
  expect(kind == EncoderOnlyConfig::kModel, "--model", "a causal language model, from gyre train lm", kind);
}

TrainedModel<EncoderOnly> load_language_model(const Path& model, const std::string& checkpoint, const Path& vocabulary,
                                              Device device) {
  require_language_model(model);
  print_model_choice(model, checkpoint);
  return load_trained_model<EncoderOnly>(model, checkpoint, vocabulary, device);
}

void BosChoice::add_row(OptionTable& table) {
  table_ = &table;
  table.add_flag("--bos,!--no-bos", is_on_,
                 "begin every text with the token that begins a document, unless it does; default: as in training, or "
                 "as the tokenizer of an imported model says");
}

std::vector<int32_t> BosChoice::before_text(const Path& model, const std::string& checkpoint,
                                            const Vocabulary& vocabulary) const {
  const bool is_given = table_->given("bos");
  if (is_given && !is_on_) return {};
  std::vector<int32_t> before = vocabulary.around_text().before;
  const bool is_trained = trained_option(model, checkpoint, "documents").has_value();
  if ((is_given || is_trained) && before.empty()) before = {vocabulary.bos()};
  return before;
}

void BosChoice::reject(const std::string& reason) const {
  if (table_->given("bos")) throw UsageError("--bos would have no effect: ", reason);
}

void put_before_text(const std::vector<int32_t>& before, const Vocabulary& vocabulary, std::vector<int32_t>& ids) {
  if (ids.empty() && before.empty()) ids.push_back(vocabulary.bos());
  const bool has_bos = !ids.empty() && !before.empty() && ids.front() == before.front();
  if (!has_bos) ids.insert(ids.begin(), before.begin(), before.end());
}

void EnsembleChoice::add_rows(OptionTable& table) {
  table_ = &table;
  table.add("--model,--models,-m", models_, "DIRECTORY...",
            "run directory, a checkpoint in it, or its model.safetensors; several models form an ensemble");
  table.required("model");
  table.add("--checkpoint", checkpoints_, "NAME...",
            "checkpoint of a run: best, last, average, a step-... directory or a path; one for all models or one for "
            "each, or several of one run as an ensemble; default: best if there is one, else last");
  table.add(Option("--vocab,--vocabs,-v", vocabulary_value(&vocabulary_, &target_vocabulary_), "FILE...",
                   "the vocabulary of the model, or those of its sources and its targets, if the run has no copy"));
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
    auto trained = load_trained_model<EncoderDecoder>(path, checkpoint, vocabulary_, device, target_vocabulary_);
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
