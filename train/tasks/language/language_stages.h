// The stages of a language model's pretraining, such as those of RoFormer (Su et al. 2021, table 4), which changes the
// length of the samples and the size of the batches.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gyre/data/tokenizer/vocabulary.h"
#include "gyre/train/checkpoint/run_options.h"
#include "gyre/train/tasks/language/language_data.h"
#include "gyre/train/tasks/language/language_options.h"

namespace gyre {

// The options of one stage: those of the run, with what the stage changes.
LanguageOptions options_of_stage(const LanguageOptions& run, const LanguageStage& stage);

// Throws a UsageError if samples of the run or of a stage are longer than the positions of the model.
void require_positions(const LanguageOptions& run, int64_t positions);

// The ranges of the stages in the run.
std::vector<RunStage> run_stages(const LanguageOptions& run);

// The corpora of the stages, in order; without stages, those of the run. Stages with the same files share them; those
// with the files of the run share `first`. Throws an Error if a file cannot be read or is no store of documents.
std::vector<Corpora> open_stage_corpora(const LanguageOptions& run, const Corpora& first, const Vocabulary& vocabulary);

// Makes the data of a stage, or of a run without stages, from its options and its corpora.
using MakeStageData =
    std::function<std::unique_ptr<TrainingData>(const LanguageOptions& options, const Corpora& corpora)>;

// The data of the run. `corpora`: those of open_stage_corpora().
std::unique_ptr<TrainingData> make_training_data(const LanguageOptions& run, const std::vector<Corpora>& corpora,
                                                 const MakeStageData& make);

// Two entries per stage that must not change, its end, and its learning rates. Entries of stages that have not begun,
// and the ends of those that have not ended, may change when a run is resumed (train/resume.h).
RunOptions stage_run_options(const LanguageOptions& run, const std::vector<Corpora>& corpora);

}  // namespace gyre
