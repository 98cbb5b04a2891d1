#include "tools/language_options.h"

#include <map>
#include <utility>

#include "tools/train_options.h"

namespace gyre {

namespace {

// fairseq has one word for how samples are filled and whether they cross documents.
void add_break_mode(OptionTable& table, LanguageOptions& o) {
  static const std::map<std::string, std::pair<const char*, bool>> modes{{"none", {"full", true}},
                                                                         {"complete", {"sentences", true}},
                                                                         {"complete-doc", {"sentences", false}},
                                                                         {"eos", {"segment", false}}};
  std::vector<std::string> words;
  for (const auto& [word, meaning] : modes) words.push_back(word);
  table.add_custom("--sample-break-mode", 1, 1, "WORD",
                   "fairseq's word for --fill and --across-documents: none, complete, complete-doc, eos",
                   [&o, words](const std::vector<std::string>& values) {
                     const auto& [fill, across] = modes.at(OptionTable::chosen_word(values.back(), words));
                     o.fill = fill;
                     o.across_documents = across;
                   });
  table.offer(words);
  table.yields_to("fill");
}

void add_document_rows(OptionTable& table, LanguageOptions& o) {
  table.group("Data");
  table.add("--train-sets,-t", o.train_sets, "FILE...",
            "training data: text files, or one token store from gyre data build --documents");
  table.add("--valid-sets", o.valid_sets, "FILE...", "validation data, likewise");
  table.add("--valid-share", o.validation_share, "SHARE",
            "of the documents of --train-sets, or of a single one its end, held out to validate on instead; the "
            "paper's 8:2 is 0.2");
  table.add("--valid-samples", o.validation_samples, "SAMPLES", "that validation takes, evenly spread; 0: all");
  table.add("--vocab,--vocabs,-v", o.vocabulary, "FILE", "vocabulary, from gyre vocab");
  table.add_choice("--documents", o.documents, {"blank-line", "line", "whole"},
                   "where a document ends in text; whole: with its file, every byte of which counts, line ends too");
  table.add("--max-length,--tokens-per-sample", o.max_length, "TOKENS", "rows of a sample, with <s> and </s>");
  table.add_choice("--fill", o.fill, {"full", "sentences", "segment"},
                   "a sample takes: as many tokens as fit; whole sentences; one sentence");
  table.add_flag("--across-documents", o.across_documents, "a sample runs on into the next document, </s> between");
  add_break_mode(table, o);
  for (const char* name : {"train-sets", "vocab"}) table.required(name);
}

void add_run_rows(OptionTable& table, LanguageOptions& o) {
  add_train_options(table, o,
                    {.batch_units = {"total", "sentences"},
                     .batch_unit_help = "what --mini-batch-words counts: tokens, or sentences (samples)",
                     .valid_metrics = "cross-entropy, perplexity, accuracy"});
  table.add("--valid-mini-batch,--batch-size-valid", o.valid_mini_batch, "SAMPLES", "in validation, at a time");
}

}  // namespace

void add_language_options(OptionTable& table, LanguageOptions& options) {
  add_document_rows(table, options);
  add_run_rows(table, options);
}

void add_masked_options(OptionTable& table, MaskedOptions& options) {
  add_document_rows(table, options);
  table.group("Masking");
  table.add("--mask-share,--mask-prob", options.mask_share, "SHARE",
            "of the tokens that are predicted: 80 % masked, 10 % another token, 10 % as they are");
  table.add_choice(
      "--mask-draw", options.mask_draw, {"exact", "independent"},
      "BERT's: that share of every sample; or every token for itself. A batch that gets no masks updates nothing");
  table.add_flag("--whole-words,--mask-whole-words", options.whole_words, "all pieces of a word or none");
  add_run_rows(table, options);
}

void reject_idle_language_options(const OptionTable& table, const LanguageOptions& options) {
  reject_idle_train_options(table, options);
  for (const char* name : {"valid-samples", "valid-mini-batch"})
    table.reject_idle(name, options.has_validation_data(), "there is nothing to validate on");
  table.reject_idle("on-bad-line", options.documents != "whole", "--documents is whole");
}

}  // namespace gyre
