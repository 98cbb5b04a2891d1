// Command-line options of gyre train: the rows of each task, and what follows when they have been read from the command
// line and from files. The options and configurations that rows refer to must outlive the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"
#include "gyre/data/text/labeled_text.h"
#include "gyre/models/config/config.h"
#include "gyre/train/options.h"
#include "gyre/train/tasks/classification/classify_options.h"
#include "gyre/train/tasks/fine_tuning_options.h"
#include "gyre/train/tasks/language/language_options.h"
#include "gyre/train/tasks/matching/match_options.h"
#include "gyre/train/tasks/translation/nmt_options.h"
#include "tools/command_line/option_table.h"

namespace gyre {

// Call after resolve(). Stores the resolved options and the notes that the run writes and logs.
void record_train_options(const OptionTable& table, TrainOptions& options);

// Call after resolve(). Sets the defaults that depend on the kind of the optimizer.
void set_optimizer_defaults(const OptionTable& table, OptimizerOptions& optimizer);

// Call after resolve(). Takes the vocabulary of the pretrained model unless the options give one, or that of a run that
// continues without it.
void use_pretrained_vocabulary(const Path& model, TrainOptions& options);

// `config`: of the model, which --pretrained-model sets.
void add_nmt_options(OptionTable& table, NmtOptions& options, EncoderDecoderConfig& config);

// Call after resolve(). Sets the defaults that depend on other options, and throws UsageError for options that were
// given but would have no effect in this run.
void check_nmt_training(const OptionTable& table, NmtOptions& options);

// The same for the options of the task and of the model together, and for a model that cannot be built.
void check_nmt_options(const OptionTable& table, NmtOptions& options, const EncoderDecoderConfig& config);

// `config`: of the model, which --pretrained-model sets.
void add_language_options(OptionTable& table, LanguageOptions& options, EncoderOnlyConfig& config);

// Call after resolve(). Sets the defaults that depend on other options, and throws UsageError for options that were
// given but would have no effect in this run.
void check_language_options(const OptionTable& table, LanguageOptions& options);

// Call after resolve(). Sets the default learning rate. Throws UsageError for options that would have no effect in this
// run.
void check_fine_tuning_options(const OptionTable& table, FineTuningOptions& options);

// Throws UsageError for options of the encoder and of its vocabulary beside --pretrained-model, which has its own.
void reject_pretrained_options(const OptionTable& table, const FineTuningOptions& options);

// The options that were given; for the others the format's own values apply. A column is a name from the header line
// or a number: counted from 0, or from the end with -1 as the last column.
struct ColumnOptions {
  std::optional<bool> header;
  std::optional<std::string> text, second_text, label;

  // `takes_pairs`: also adds the option for a second text.
  void add_rows(OptionTable& table, bool takes_pairs);
  // Throws UsageError for a column name if there is no header line.
  void apply(LabeledFormat& format) const;
};

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

void add_classify_options(OptionTable& table, ClassifyArgs& args);

// Call after resolve(). Completes args.train.format. Throws UsageError for conflicting options and for options that
// would have no effect in this run.
void check_classify_options(const OptionTable& table, ClassifyArgs& args);

void add_match_options(OptionTable& table, MatchOptions& options);

}  // namespace gyre
