#include "tools/options/tasks/language_options.h"

#include <map>
#include <utility>

#include "tools/options/document_rows.h"
#include "tools/options/tasks/pretrained_row.h"
#include "tools/options/tasks/stage_options.h"
#include "tools/options/tokenizer_rows.h"
#include "tools/options/train_options.h"

namespace gyre {

namespace {

// fairseq has a single option for how samples are filled and whether they cross document boundaries.
void add_break_mode(OptionTable& table, LanguageOptions& o) {
  static const std::map<std::string, std::pair<const char*, bool>> modes{{"none", {"full", true}},
                                                                         {"complete", {"sentences", true}},
                                                                         {"complete-doc", {"sentences", false}},
                                                                         {"eos", {"segment", false}}};
  std::vector<std::string> words;
  for (const auto& [word, meaning] : modes) words.push_back(word);
  table.add_custom("--sample-break-mode", 1, 1, "WORD",
                   "fairseq's name for --fill and --across-documents: none, complete, complete-doc, eos",
                   [&o, words](const std::vector<std::string>& values) {
                     const auto& [fill, across] = modes.at(OptionTable::chosen_word(values.back(), words));
                     o.fill = fill;
                     o.across_documents = across;
                   });
  table.set_completions(words);
  table.shorthand_of("fill");
}

void add_document_rows(OptionTable& table, LanguageOptions& o) {
  table.group("Data");
  table.add(
      "--train-sets,-t", o.data.train_sets, "FILE...",
      "training data: text, JSON lines (also compressed), folders, patterns, or token stores from gyre data build "
      "--documents; several are one corpus, in this order");
  table.add("--train-weights", o.train_weights, "WEIGHT...",
            "shares of the samples from each of --train-sets; without it, every sample occurs once per epoch");
  table.add("--valid-sets", o.data.valid_sets, "FILE...",
            "validation data, in the same forms, each with a cross-entropy of its own beside that of all");
  table.add("--valid-share", o.validation_share, "SHARE",
            "share of --train-sets that is held out for validation instead of --valid-sets: of its documents, or the "
            "end of a single document; 0.2 is the paper's 8:2 split");
  table.add("--valid-samples", o.validation_samples, "SAMPLES", "number of validation samples, evenly spaced; 0: all");
  table.add("--vocab,--vocabs,-v", o.data.vocabulary, "FILE", "vocabulary, from gyre vocab");
  add_tokenizer_rows(table, o.tokenizer);
  add_documents_row(table, o.documents, "");
  add_line_ends_row(table, o.line_ends, "keep if the vocabulary can write line ends, else none");
  add_text_field_row(table, o.text_field);
  table.add("--max-length,--tokens-per-sample", o.data.max_length, "TOKENS",
            "tokens per sample, <s> and </s> included");
  table.add_choice("--fill", o.fill, {"full", "sentences", "segment"},
                   "content of a sample: as many tokens as fit, whole sentences, or one sentence");
  table.add_flag("--across-documents", o.across_documents,
                 "let samples continue into the next document, with </s> between documents");
  table.add_choice("--documents-attend", o.documents_attend, {"across", "apart"},
                   "attention within a sample of several documents: across their boundaries; or apart, as if each "
                   "document were a sample, with positions that restart at 0");
  add_break_mode(table, o);
  table.required("train-sets");
}

void add_run_rows(OptionTable& table, LanguageOptions& o, std::vector<std::string> metrics) {
  add_train_options(table, o,
                    {.batch_units = {"total", "sentences"},
                     .batch_unit_help = "unit of --mini-batch-words: tokens or sentences (samples)",
                     .valid_metrics = std::move(metrics)});
  table.group("Optimizer");
  table.add("--z-loss", o.z_loss, "NUMBER",
            "factor of the squared logarithm of the softmax's denominator in the loss, which keeps logits small (PaLM: "
            "1e-4); 0: none");
  table.group("Stopping, saving, validation");
  table.add("--valid-mini-batch,--batch-size-valid", o.validation.mini_batch, "SAMPLES",
            "samples per validation batch");
  add_stage_tables(table, o);
}

}  // namespace

void add_language_options(OptionTable& table, LanguageOptions& options, EncoderOnlyConfig& config) {
  add_document_rows(table, options);
  add_pretrained_row(table, options, config);
  add_run_rows(table, options, {"cross-entropy", "perplexity", "accuracy", "bits-per-byte"});
}

void add_masked_options(OptionTable& table, MaskedOptions& options, EncoderOnlyConfig& config) {
  add_document_rows(table, options);
  add_pretrained_row(table, options, config);
  table.group("Masking");
  table.add("--mask-share,--mask-prob", options.mask_share, "SHARE",
            "share of the tokens to predict: 80 % of them masked, 10 % replaced by random tokens, 10 % unchanged");
  table.add_choice(
      "--mask-draw", options.mask_draw, {"exact", "independent"},
      "exact: this share of every sample, as in BERT; independent: each token independently, and a batch without masks "
      "updates nothing");
  table.add_flag("--whole-words,--mask-whole-words", options.whole_words, "mask all pieces of a word or none");
  add_run_rows(table, options, {"cross-entropy", "perplexity", "accuracy"});
}

void check_language_options(const OptionTable& table, LanguageOptions& options) {
  // The stages of a run have resolved its schedule already.
  if (!options.pretrained_model.empty() && options.stages.empty()) set_fine_tuning_warmup(table, options);
  check_train_options(table, options);
  for (const char* name : {"valid-samples", "valid-mini-batch"})
    table.reject_unused(name, options.has_validation_data(), "there is no validation data");
  table.reject_unused("documents-attend", options.across_documents,
                      "without --across-documents, a sample holds one document");
  table.reject_unused("line-ends", options.documents != "whole", "--documents is whole, which keeps all line ends");
  table.reject_unused("on-bad-line", options.documents != "whole", "--documents is whole");
}

}  // namespace gyre
