// Command-line options of `gyre train classify | regress | pair`: those of every training run and those of the task.
#pragma once

#include <string>

#include "gyre/train/tasks/classification/classify_options.h"
#include "tools/command_line/option_table.h"
#include "tools/options/tasks/column_options.h"

namespace gyre {

// classify: predicts the class of one text; regress: a number for one or two texts; pair: the class of a pair of texts.
enum class TextTaskKind : uint8_t { classify, regress, pair };

template <>
inline constexpr std::pair<TextTaskKind, std::string_view> kEnumNames<TextTaskKind>[] = {
    {TextTaskKind::classify, "classify"}, {TextTaskKind::regress, "regress"}, {TextTaskKind::pair, "pair"}};

// The task as given on the command line.
struct ClassifyArgs {
  explicit ClassifyArgs(TextTaskKind kind);
  TextTaskKind kind;
  std::string preset;  // a name from data/text/text_tasks.h; empty: columns and labels are given by options
  ColumnOptions columns;
  ClassifyOptions train;
};

// `args` must outlive the table.
void add_classify_options(OptionTable& table, ClassifyArgs& args);

// Call after resolve(). Completes args.train.format. Throws UsageError for conflicting options and for options that
// would have no effect in this run.
void check_classify_options(const OptionTable& table, ClassifyArgs& args);

}  // namespace gyre
