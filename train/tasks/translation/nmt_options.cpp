#include "gyre/train/tasks/translation/nmt_options.h"

#include <algorithm>
#include <array>

#include "gyre/core/number_text.h"
#include "gyre/core/option_checks.h"
#include "gyre/data/store/token_store.h"
#include "gyre/data/text/text_input.h"
#include "gyre/models/decode/beam_search.h"

namespace gyre {

namespace {

constexpr std::array kTranslationMetrics{"cross-entropy", "perplexity", "bleu", "chrf"};

// Throws unless the files are token stores or a source and a target. The files of a folder or a pattern are sorted by
// path, which says nothing about the languages.
void expect_pairs(const std::string& flag, const std::vector<Path>& paths) {
  const std::vector<Path> files = expand_paths(paths);
  if (std::all_of(files.begin(), files.end(), [](const Path& file) { return TokenStore::recognizes(file); })) return;
  constexpr const char* kExpected = "a source and a target file, or token stores";
  expect(paths.size() <= 2, flag, kExpected, concat(paths.size(), " paths"));
  expect(files == paths, flag, kExpected, concat("a folder or a pattern of ", counted(files.size(), "file")));
}

}  // namespace

void NmtOptions::declare(OptionList& list) {
  constexpr const char* kPair = "SOURCE TARGET";
  list.group("Data");
  // Runs compare the data, and not the names of its files.
  list.add(OnResume::same_bits, "--train-sets,-t", &data.train_sets, kPair,
           "training data: two text files or token stores",
           {.required = true,
            .also_called = {"trainpref"},
            .values_called = {{kPair, {"source-lang", "target-lang", "train-src", "train-tgt"}}}});
  list.add(OnResume::same_bits, "--valid-sets", &data.valid_sets, kPair, "validation data, in the same form");
  list.add(OnResume::same_bits, "--vocab,--vocabs,-v", vocabulary_value(&data.vocabulary, &data.target_vocabulary),
           "FILE...", "joint vocabulary of both sides, or one of each",
           {.supplied_by = "pretrained-model", .required = true});
  tokenizer.declare(list);
  list.add(OnResume::other_data, "--max-length", &data.max_length, "TOKENS",
           "maximum length of training sentences, on either side", {.bounds = at_least(2)});
  list.group("Initialization");
  list.add(OnResume::other_bits, pretrained_model_option(&pretrained_model));
  lora.declare(list);
  declare_training(list,
                   {.batch_unit_help = "unit of --mini-batch-words: tokens of one side, of both sides, or sentences",
                    .valid_metrics = {kTranslationMetrics.begin(), kTranslationMetrics.end()}});
  list.group("Translation");
  list.add(OnResume::other_bits, "--label-smoothing", &label_smoothing, "NUMBER",
           "probability spread evenly over all tokens, including the correct one (as in PyTorch and Marian)",
           {.bounds = fraction(),
            .also_called = {"label-smoothing-factor"},
            .elsewhere = {{{"label-smoothing"},
                           "fairseq",
                           "spread over the other tokens",
                           "over all tokens, including the target, as in Marian and PyTorch"}}});
  OptionValue merges(&bpe_dropout);
  merges.text = [this] {
    return concat(bpe_dropout, bpe_dropout > 0 ? concat(" on ", enum_name(bpe_dropout_side)) : "");
  };
  list.add(OnResume::other_bits, "--bpe-dropout", merges, "NUMBER",
           "probability of leaving out a merge when training sentences are split into pieces (Provilkov et al. 2019)",
           {.bounds = between(0, 1)});
  // The text of --bpe-dropout has the side, so that a change of it is reported there.
  list.add(OnResume::same_bits, "--bpe-dropout-side", &bpe_dropout_side, "side that is split so",
           {.unused = [this] { return bpe_dropout > 0 ? "" : "--bpe-dropout is 0"; }});
  list.add(OnResume::other_bits, "--r-drop,--rdrop-alpha,--reg-alpha", &r_drop, "NUMBER",
           "R-Drop: weight of the divergence between two passes with different dropout (5 in the paper); 0: one pass",
           {.bounds = finite_at_least(0)});
  // Other values make another basis of the validation.
  list.add(OnResume::same_bits, "--valid-beam-size", &valid_beam, "HYPOTHESES", "beam size in validation");
  list.add(OnResume::same_bits, "--valid-length-penalty", &valid_length_penalty, "NUMBER",
           "length penalty in validation, in fairseq's form");
  list.add(
      OnResume::same_bits, "--valid-mini-batch,--batch-size-valid", &validation.mini_batch, "SENTENCES",
      "sentences per validation batch",
      {.bounds = at_least(1), .also_called = {"per-device-eval-batch-size", "eval-batch-size", "max-tokens-valid"}});
  for (const char* name : {"valid-beam-size", "valid-length-penalty", "valid-mini-batch"})
    list.at(name).unused = [this] { return translates() ? "" : "no validation metric needs translations"; };
}

bool NmtOptions::translates() const {
  return !data.valid_sets.empty() && std::ranges::any_of(validation.metrics, [](const std::string& metric) {
    return metric == "bleu" || metric == "chrf";
  });
}

void NmtOptions::validate() const {
  TrainOptions::validate();
  validate_task();
}

void NmtOptions::validate_task() const {
  OptionList::of(*this).check();
  tokenizer.check();
  lora.validate(!pretrained_model.empty());
  expect(!data.train_sets.empty(), "--train-sets", "a source and a target file, or token stores", "none");
  expect_pairs("--train-sets", data.train_sets);
  expect_pairs("--valid-sets", data.valid_sets);
  for (const std::string& metric : validation.metrics) expect_one_of(kTranslationMetrics, "--valid-metrics", metric);
  DecodeOptions{.beam_size = valid_beam, .length_penalty = valid_length_penalty}.validate_search("--valid-");
}

}  // namespace gyre
