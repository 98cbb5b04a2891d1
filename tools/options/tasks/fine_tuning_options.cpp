#include "tools/options/tasks/fine_tuning_options.h"

#include "tools/options/tokenizer_rows.h"
#include "tools/options/train_options.h"

namespace gyre {

void add_fine_tuning_options(OptionTable& table, FineTuningOptions& options, const std::string& item,
                             const std::string& valid_rows, const std::vector<std::string>& valid_metrics) {
  table.group("Initialization");
  table.add("--pretrained-model,--init-from", options.pretrained_model, "DIRECTORY",
            "pretrained encoder (architecture, vocabulary, weights): a run of gyre train mlm or a Hugging Face model");
  table.add_flag("--from-scratch", options.from_scratch,
                 "take only the architecture and vocabulary of --pretrained-model; the weights are random");
  table.add("--vocab,--vocabs,-v", options.data.vocabulary, "FILE",
            "vocabulary from gyre vocab, if there is no --pretrained-model");
  add_tokenizer_rows(table, options.tokenizer);
  table.add_choice("--head", options.head, {"auto", "bert", "roformer", "mean"},
                   "classification head: BERT's or RoFormer's on the first token, or a linear layer on the mean of all "
                   "tokens; auto: RoFormer's if the position encoding is rope, else BERT's");
  table.add("--classifier-dropout", options.classifier_dropout, "RATE", "dropout rate in the classification head");
  add_train_options(table, options,
                    {.batch_units = {"sentences", "total"},
                     .batch_unit_help = concat("unit of --mini-batch-words: sentences (", item, ") or tokens"),
                     .valid_metrics = valid_metrics,
                     .learning_rate_help = concat("peak learning rate; the default is ", options.fine_tuning_rate(),
                                                  " for a pretrained model and ", FineTuningOptions::kFromScratchRate,
                                                  " for random weights (no --pretrained-model, or --from-scratch)")});
  table.add("--valid-mini-batch,--batch-size-valid", options.validation.mini_batch, "SENTENCES",
            concat(valid_rows, " per validation batch"));
}

void check_fine_tuning_options(const OptionTable& table, FineTuningOptions& options) {
  if (!table.given("learn-rate")) options.optimizer.schedule.learning_rate = options.default_learning_rate();
  if (options.optimizer.schedule.warmup_percent > 0) set_fine_tuning_warmup(table, options);
  check_train_options(table, options);
  table.reject_unused("valid-mini-batch", !options.data.valid_sets.empty(), "there is no validation data");
  reject_pretrained_options(table, options);
}

void reject_pretrained_options(const OptionTable& table, const FineTuningOptions& options) {
  if (options.pretrained_model.empty()) return;
  for (const char* name : {"tokenizer", "dictionary"})
    table.reject_unused(
        name, false,
        "--pretrained-model has its own vocabulary; gyre import takes this option for a model of Hugging Face");
  for (const char* group : {"Model", "Attention", "Position encoding"})
    table.reject_group(group, "--pretrained-model defines the encoder");
}

}  // namespace gyre
