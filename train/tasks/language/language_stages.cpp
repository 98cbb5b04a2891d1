#include "gyre/train/tasks/language/language_stages.h"

#include <map>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/hexadecimal.h"
#include "gyre/train/optim/schedule.h"
#include "gyre/train/tasks/require_positions.h"
#include "gyre/train/tasks/staged_data.h"

namespace gyre {
namespace {

std::string rates_text(const RateStage& stage) {
  const ScheduleOptions& s = stage.schedule;
  std::string text = concat(s.kind, " with a peak of ", s.learning_rate);
  if (stage.origin > 0 || stage.begin == 0) text += concat(", warm-up of ", s.warmup, " updates");
  if (s.needs_total_updates()) text += concat(", ", s.total_updates, " updates in all");
  if (const std::string cooldown = cooldown_text(s); !cooldown.empty()) text += ", cooldown of " + cooldown;
  if (find_schedule(s.kind).has_power) text += concat(", power ", s.power);
  return text + concat(", counted from update ", stage.origin);
}

}  // namespace

LanguageOptions options_of_stage(const LanguageOptions& run, const LanguageStage& stage) {
  LanguageOptions options = run;
  options.stages.clear();
  options.data.max_length = stage.max_length.value_or(run.data.max_length);
  options.batch.size = stage.batch_size.value_or(run.batch.size);
  options.batch.unit = stage.batch_unit.value_or(run.batch.unit);
  if (!stage.train_sets.empty()) {
    options.data.train_sets = stage.train_sets;
    options.train_weights.clear();  // the run's files have the weights
  }
  if (stage.train_weights) options.train_weights = *stage.train_weights;
  return options;
}

void require_positions(const LanguageOptions& run, int64_t positions) {
  require_positions(run.data.max_length, positions);
  for (size_t i = 0; i < run.stages.size(); ++i) {
    const int longest = options_of_stage(run, run.stages[i]).data.max_length;
    require_positions(longest, positions, concat("stage ", i + 1, ": max-length"));
  }
}

std::vector<RunStage> run_stages(const LanguageOptions& run) {
  std::vector<RunStage> stages;
  for (const LanguageStage& stage : run.stages) {
    const LanguageOptions options = options_of_stage(run, stage);
    stages.push_back({.begin = stages.empty() ? 0 : stages.back().end(),
                      .updates = stage.updates,
                      .max_length = options.data.max_length,
                      .batch = options.batch});
  }
  return stages;
}

std::vector<Corpora> open_stage_corpora(const LanguageOptions& run, const Corpora& first,
                                        const Vocabulary& vocabulary) {
  if (run.stages.empty()) return {first};
  // Files with weights are corpora of their own.
  const auto key = [](const LanguageOptions& o) { return std::pair(o.data.train_sets, o.train_weights.empty()); };
  std::map<std::pair<std::vector<Path>, bool>, Corpora> opened{{key(run), first}};
  std::vector<Corpora> corpora;
  for (const LanguageStage& stage : run.stages) {
    const LanguageOptions options = options_of_stage(run, stage);
    Corpora& of_stage = opened[key(options)];
    if (of_stage.empty()) of_stage = open_corpora(options, vocabulary);
    corpora.push_back(of_stage);
  }
  return corpora;
}

std::unique_ptr<TrainingData> make_training_data(const LanguageOptions& run, const std::vector<Corpora>& corpora,
                                                 const MakeStageData& make) {
  if (run.stages.empty()) return make(run, corpora.front());
  const std::vector<RunStage> ranges = run_stages(run);
  std::vector<StagedData::Stage> stages;
  for (size_t i = 0; i < ranges.size(); ++i) {
    stages.push_back({ranges[i], [make, of_stage = corpora[i], stage = options_of_stage(run, run.stages[i])] {
                        return make(stage, of_stage);
                      }});
  }
  return std::make_unique<StagedData>(std::move(stages));
}

RunOptions stage_run_options(const LanguageOptions& run, const std::vector<Corpora>& corpora) {
  const std::vector<RunStage> stages = run_stages(run);
  RunOptions options;
  for (size_t i = 0; i < stages.size(); ++i) {
    const RunStage& stage = stages[i];
    const std::string name = stage_option_name(stage.begin);
    options["=" + name] = concat("--max-length ", stage.max_length, ", --mini-batch-words ", stage.batch.size,
                                 ", --batch-unit ", stage.batch.unit);
    options["=" + stage_end_option_name(stage.begin)] = std::to_string(stage.end());
    options["=" + name + ", training data"] = hexadecimal(checksum_of(corpora[i]));
    if (const LanguageOptions of_stage = options_of_stage(run, run.stages[i]); !of_stage.train_weights.empty())
      options["=" + name + ", weights"] = weights_text(of_stage.train_weights);
    options[name + ", learning rate"] = rates_text(run.optimizer.rate_stages[i]);
  }
  return options;
}

}  // namespace gyre
