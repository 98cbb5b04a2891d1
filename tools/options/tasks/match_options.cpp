#include "tools/options/tasks/match_options.h"

#include "tools/options/train_options.h"

namespace gyre {

void add_match_options(OptionTable& table, MatchOptions& options) {
  table.add_options(options);
  set_common_training_rows(table);
}

}  // namespace gyre
