// gyre evaluate translation: scores hypotheses by every metric of translations.
#include <memory>

#include "tools/commands/evaluate/metric_command.h"

namespace gyre {

namespace {

std::vector<TranslationMetric> all_metrics(const std::string& language) {
  MosesBleuOptions tokenized, split;
  tokenized.language = split.language = language;
  split.split_compounds = true;
  ChrfOptions with_words;
  with_words.word_order = 2;
  return {sacrebleu_metric({}), moses_bleu_metric(tokenized), moses_bleu_metric(split),
          chrf_metric({}),      chrf_metric(with_words),      ter_metric({})};
}

}  // namespace

void add_evaluate_translation_command(Program& program) {
  const auto language = std::make_shared<std::string>("de");
  OptionTable& table =
      add_metric_command(program, "translation", "BLEU by three protocols, chrF, chrF++ and TER at once",
                         [language](const OptionTable&) { return all_metrics(*language); });
  table.add_choice("--language", *language, {"de", "en"}, "language of the Moses tokenizer");
}

}  // namespace gyre
