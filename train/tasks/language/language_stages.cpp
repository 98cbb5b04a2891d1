#include "gyre/train/tasks/language/language_stages.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/number_text.h"
#include "gyre/core/option_list.h"
#include "gyre/core/option_values.h"
#include "gyre/train/options.h"
#include "gyre/train/task.h"
#include "gyre/train/tasks/inputs.h"

namespace gyre {
namespace {

// Training data whose samples and batches change at given updates: the stages of a run. An epoch belongs to one stage.
// The last epoch of a stage ends with the stage, and the next stage begins with a new epoch, so the order of the data
// and the masks never repeat.
class StagedData final : public TrainingData {
 public:
  struct Stage {
    RunStage range;
    std::function<std::unique_ptr<TrainingData>()> open;
  };
  // Opens the first stage. Each stage begins where the one before it ends; there is at least one. `open` is
  // called when a stage begins, and what it returned is freed at the end of the stage.
  explicit StagedData(std::vector<Stage> stages);

  std::string describe() const override { return data_->describe(); }
  std::string item() const override { return data_->item(); }
  // That of the open stage. The checksums of all stages belong to the options of the run.
  uint64_t checksum() const override { return data_->checksum(); }
  void start_epoch(uint64_t epoch, uint64_t first_update) override;
  size_t batches() const override { return batches_; }
  RankBatch batch(size_t i, MicroBatchRange own) const override { return data_->batch(i, own); }

 private:
  size_t stage_of(uint64_t update) const;
  void open(size_t stage);

  std::vector<Stage> stages_;
  size_t stage_ = 0;
  std::unique_ptr<TrainingData> data_;
  size_t batches_ = 0;
};

StagedData::StagedData(std::vector<Stage> stages) : stages_(std::move(stages)) {
  require(!stages_.empty(), "[stages] expected at least one");
  open(0);
  start_epoch(0, 0);
}

// The last stage has no end here, so that a replay may go beyond it.
size_t StagedData::stage_of(uint64_t update) const {
  size_t stage = 0;
  while (stage + 1 < stages_.size() && stages_[stage].range.end() <= update) ++stage;
  return stage;
}

void StagedData::open(size_t stage) {
  stage_ = stage;
  data_.reset();  // frees the memory before the next stage's is allocated
  data_ = stages_[stage].open();
}

void StagedData::start_epoch(uint64_t epoch, uint64_t first_update) {
  if (const size_t stage = stage_of(first_update); stage != stage_) open(stage);
  data_->start_epoch(epoch, first_update);
  batches_ = data_->batches();
  const uint64_t end = stages_[stage_].range.end();
  if (first_update < end) batches_ = std::min<size_t>(batches_, end - first_update);
}

// "--max-length 512, --mini-batch-words 64, ..": the options of the samples and batches of a stage.
std::string samples_text(const RunStage& range) {
  LanguageStage stage{.max_length = range.max_length, .batch_size = range.batch.size, .batch_unit = range.batch.unit};
  OptionList list;
  stage.declare(list);
  std::string text;
  for (const auto& [option, on_resume, group] : list.entries())
    if (on_resume == OnResume::other_data)
      text += concat(text.empty() ? "--" : ", --", option.name(), " ", option.value.text());
  return text;
}

// "learn-rate 0.1, lr-schedule linear, .., counted from update 0": all that the learning rates of a stage depend on.
std::string rates_text(const RateStage& stage) {
  const OptionList list = OptionList::of(stage.schedule);
  std::string text;
  for (const auto& [option, on_resume, group] : list.entries())
    if (on_resume == OnResume::other_bits && option.is_read())
      text += concat(option.name(), " ", option.value.text(), ", ");
  return text + concat("counted from update ", stage.origin);
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
    options.of_data[name] = samples_text(stage);
    options.of_data[stage_end_option_name(stage.begin)] = std::to_string(stage.end());
    options.of_data[name + ", training data"] = hexadecimal(checksum_of(corpora[i]));
    if (const LanguageOptions of_stage = options_of_stage(run, run.stages[i]); !of_stage.train_weights.empty())
      options.of_data[name + ", weights"] = option_text(of_stage.train_weights);
    options.of_bits[stage_rates_option_name(stage.begin)] = rates_text(run.optimizer.rate_stages[i]);
  }
  return options;
}

}  // namespace gyre
