#include "gyre/train/tasks/fine_tuning_options.h"

#include <utility>

#include "gyre/core/option_checks.h"

namespace gyre {

FineTuningOptions::FineTuningOptions(double fine_tuning_rate) : fine_tuning_rate_(fine_tuning_rate) {
  batch.unit = BatchUnit::sentences;
  batch.maxi_batch = 1;  // batches have no padding, so mixed lengths cost nothing and make better batches
  optimizer.schedule.learning_rate = fine_tuning_rate;
  optimizer.beta2 = 0.999;
  checkpoint.every = validation.every = {1, Period::Unit::epochs};
  checkpoint.saving.keep_last = 1;
}

void FineTuningOptions::declare_fine_tuning(OptionList& list, const std::string& item, const std::string& valid_item,
                                            std::vector<std::string> valid_metrics) {
  list.group("Initialization");
  // The weights of a run that continues are its own.
  list.add(OnResume::same_bits, "--pretrained-model,--init-from", &pretrained_model, "DIRECTORY",
           "pretrained encoder (architecture, vocabulary, weights): a run of gyre train mlm or a Hugging Face model");
  list.add(OnResume::same_bits, "--from-scratch", &from_scratch,
           "take only the architecture and vocabulary of --pretrained-model; the weights are random");
  list.add(OnResume::same_bits, "--vocab,--vocabs,-v", &data.vocabulary, "FILE",
           "vocabulary from gyre vocab, if there is no --pretrained-model");
  tokenizer.declare(list);
  list.add(OnResume::another_model, "--head", one_of(&head, "auto"),
           "classification head: BERT's or RoFormer's on the first token, or a linear layer on the mean of all tokens; "
           "auto: RoFormer's if the position encoding is rope, else BERT's");
  list.add(OnResume::other_bits, "--classifier-dropout", &classifier_dropout, "RATE",
           "dropout rate in the classification head", {.bounds = fraction()});
  declare_training(list, {.batch_units = {BatchUnit::sentences, BatchUnit::total_tokens},
                          .batch_unit_help = concat("unit of --mini-batch-words: sentences (", item, ") or tokens"),
                          .valid_metrics = std::move(valid_metrics),
                          .learning_rate_help = concat(
                              "peak learning rate; the default is ", fine_tuning_rate(), " for a pretrained model and ",
                              kFromScratchRate, " for random weights (no --pretrained-model, or --from-scratch)")});
  list.add(
      OnResume::same_bits, "--valid-mini-batch,--batch-size-valid", &validation.mini_batch, "SENTENCES",
      concat(valid_item, " per validation batch"),
      {.bounds = at_least(1), .unused = [this] { return has_validation_data() ? "" : "there is no validation data"; }});
}

void FineTuningOptions::validate() const {
  TrainOptions::validate();
  tokenizer.check();
  expect(data.train_sets.size() == 1, "--train-sets", "one file", concat(data.train_sets.size(), " paths"));
  expect(data.valid_sets.size() <= 1, "--valid-sets", "one file", concat(data.valid_sets.size(), " paths"));
  expect(data.vocabulary.empty() != pretrained_model.empty(), "--vocab",
         "a vocabulary, or --pretrained-model with its own", data.vocabulary.empty() ? "neither" : "both");
  expect(!from_scratch || !pretrained_model.empty(), "--from-scratch",
         "a --pretrained-model, whose architecture it uses", "none");
}

}  // namespace gyre
