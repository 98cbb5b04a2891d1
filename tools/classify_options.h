// The options of `gyre train classify | regress | pair` as command-line rows: those of every training run, and its own.
#pragma once

#include <string>

#include "tools/column_options.h"
#include "tools/option_table.h"
#include "train/classify_options.h"

namespace gyre {

// classify: the class of a text; regress: a number for a text or two; pair: the class of two texts.
enum class TextTaskKind : uint8_t { classify, regress, pair };

template <>
inline constexpr std::pair<TextTaskKind, std::string_view> kEnumNames<TextTaskKind>[] = {
    {TextTaskKind::classify, "classify"}, {TextTaskKind::regress, "regress"}, {TextTaskKind::pair, "pair"}};

// What the command line says about the task.
struct ClassifyCall {
  explicit ClassifyCall(TextTaskKind kind);
  TextTaskKind kind;
  std::string preset;  // of data/text_tasks.h; empty: columns and labels by flag
  ColumnOptions columns;
  ClassifyOptions train;
};

// `call` must outlive the table.
void add_classify_options(OptionTable& table, ClassifyCall& call);

// After resolve(): completes call.train.format, and throws UsageError for options that do not go together and for those
// that nothing in this run reads.
void check_classify_options(const OptionTable& table, ClassifyCall& call);

}  // namespace gyre
