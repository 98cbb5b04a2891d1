#include "tools/options/tasks/nmt_options.h"

#include <algorithm>

#include "tools/options/model_options.h"
#include "tools/options/tasks/pretrained_row.h"
#include "tools/options/tokenizer_rows.h"
#include "tools/options/train_options.h"

namespace gyre {

void add_nmt_options(OptionTable& table, NmtOptions& o, EncoderDecoderConfig& config) {
  table.group("Data");
  table.add("--train-sets,-t", o.data.train_sets, "SOURCE TARGET", "training data: two text files or token stores");
  table.add("--valid-sets", o.data.valid_sets, "SOURCE TARGET", "validation data, in the same form");
  table.add("--vocab,--vocabs,-v", o.data.vocabulary, "FILE", "joint vocabulary of both sides, from gyre vocab");
  add_tokenizer_rows(table, o.tokenizer);
  table.add("--max-length", o.data.max_length, "TOKENS", "maximum length of training sentences, on either side");
  add_pretrained_row(table, o, config);
  add_train_options(table, o,
                    {.batch_units = {"target", "source", "total", "sentences"},
                     .batch_unit_help = "unit of --mini-batch-words: tokens of one side, of both sides, or sentences",
                     .valid_metrics = {"cross-entropy", "perplexity", "bleu", "chrf"}});
  table.group("Translation");
  table.add("--label-smoothing", o.label_smoothing, "NUMBER",
            "probability spread evenly over all tokens, including the correct one (as in PyTorch and Marian)");
  table.add("--bpe-dropout", o.bpe_dropout, "NUMBER",
            "probability of leaving out a merge when training sentences are split into pieces (Provilkov et al. 2019)");
  table.add_choice("--bpe-dropout-side", o.bpe_dropout_side, {"both", "source", "target"}, "side that is split so");
  table.add("--r-drop,--rdrop-alpha,--reg-alpha", o.r_drop, "NUMBER",
            "R-Drop: weight of the divergence between two passes with different dropout (5 in the paper); 0: one pass");
  table.add("--valid-beam-size", o.valid_beam, "HYPOTHESES", "beam size in validation");
  table.add("--valid-length-penalty", o.valid_length_penalty, "NUMBER",
            "length penalty in validation, in fairseq's form");
  table.add("--valid-mini-batch,--batch-size-valid", o.validation.mini_batch, "SENTENCES",
            "sentences per validation batch");
  table.required("train-sets");
}

void check_nmt_training(const OptionTable& table, NmtOptions& options) {
  if (!options.pretrained_model.empty()) set_fine_tuning_warmup(table, options);
  check_train_options(table, options);
  table.reject_unused("bpe-dropout-side", options.bpe_dropout > 0, "--bpe-dropout is 0");
  const auto& metrics = options.validation.metrics;
  const bool translates = !options.data.valid_sets.empty() &&
                          std::any_of(metrics.begin(), metrics.end(),
                                      [](const std::string& metric) { return metric == "bleu" || metric == "chrf"; });
  for (const char* name : {"valid-beam-size", "valid-length-penalty", "valid-mini-batch"})
    table.reject_unused(name, translates, "no validation metric needs translations");
}

void check_nmt_options(const OptionTable& table, NmtOptions& options, const EncoderDecoderConfig& config) {
  check_nmt_training(table, options);
  check_model_options(table, config);
  const bool has_dropout = config.dropout > 0 || config.attention_dropout > 0 || config.activation_dropout > 0;
  table.reject_unused("r-drop", has_dropout, "without dropout both passes are the same");
}

}  // namespace gyre
