// gyre evaluate ter: scores hypotheses by the translation edit rate.
#include <memory>

#include "tools/commands/evaluate/metric_command.h"

namespace gyre {

void add_evaluate_ter_command(Program& program) {
  const auto options = std::make_shared<TerOptions>();
  OptionTable& table = add_metric_command(program, "ter", "translation edit rate, equal to sacreBLEU; lower is better",
                                          [options](const OptionTable&) { return std::vector{ter_metric(*options)}; });
  table.add_flag("--ter-case-sensitive", options->case_sensitive, "compare the text without lower-casing it");
  table.add_flag("--ter-normalized", options->normalized, "unescape SGML and split ASCII punctuation from words");
  table.add_flag("--ter-no-punct", options->no_punctuation, "remove the punctuation . , ? : ; ! \" ( )");
}

}  // namespace gyre
