// gyre evaluate chrf: scores hypotheses by chrF or chrF++.
#include <memory>

#include "tools/commands/evaluate/metric_command.h"

namespace gyre {

void add_evaluate_chrf_command(Program& program) {
  const auto options = std::make_shared<ChrfOptions>();
  OptionTable& table = add_metric_command(program, "chrf", "chrF and chrF++, equal to sacreBLEU",
                                          [options](const OptionTable&) { return std::vector{chrf_metric(*options)}; });
  table.add("--chrf-char-order", options->character_order, "CHARACTERS", "maximum length of character n-grams");
  table.add("--chrf-word-order", options->word_order, "WORDS", "maximum length of word n-grams; 2 gives chrF++");
  table.add("--chrf-beta", options->beta, "NUMBER", "weight of recall");
  table.add_flag("--lowercase,--chrf-lowercase", options->lowercase, "compare lower-cased text");
}

}  // namespace gyre
