#include "tools/nmt_options.h"

#include <algorithm>

#include "tools/train_options.h"

namespace gyre {

void add_nmt_options(OptionTable& table, NmtOptions& o) {
  table.group("Data");
  table.add("--train-sets,-t", o.train_sets, "SOURCE TARGET", "training data: two text files or one token store");
  table.add("--valid-sets", o.valid_sets, "SOURCE TARGET", "validation data: two text files or one token store");
  table.add("--vocab,--vocabs,-v", o.vocabulary, "FILE", "joint vocabulary of both sides, from gyre vocab");
  table.add("--max-length", o.max_length, "TOKENS", "longest sentence, on either side, that is trained on");
  add_train_options(table, o,
                    {.batch_units = {"target", "source", "total", "sentences"},
                     .batch_unit_help = "what --mini-batch-words counts: tokens of a side, of both, or sentences",
                     .valid_metrics = "cross-entropy, perplexity, bleu, chrf"});
  table.group("Translation");
  table.add("--label-smoothing", o.label_smoothing, "NUMBER",
            "probability spread evenly over all words, the right one too (as in PyTorch and Marian)");
  table.add("--valid-beam-size", o.valid_beam, "HYPOTHESES", "beam of translations in validation");
  table.add("--valid-length-penalty", o.valid_length_penalty, "NUMBER", "their length penalty, fairseq's form");
  table.add("--valid-mini-batch,--batch-size-valid", o.valid_mini_batch, "SENTENCES", "translated at a time");
  for (const char* name : {"train-sets", "vocab"}) table.required(name);
}

void reject_idle_nmt_options(const OptionTable& table, const NmtOptions& options) {
  reject_idle_train_options(table, options);
  const auto& metrics = options.valid_metrics;
  const bool translates = !options.valid_sets.empty() &&
                          std::any_of(metrics.begin(), metrics.end(),
                                      [](const std::string& metric) { return metric == "bleu" || metric == "chrf"; });
  for (const char* name : {"valid-beam-size", "valid-length-penalty", "valid-mini-batch"})
    table.reject_idle(name, translates, "no validation metric needs translations");
}

}  // namespace gyre
