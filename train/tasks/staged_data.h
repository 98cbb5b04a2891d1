// Training data whose samples and batches change at given updates: the stages of a run. An epoch belongs to one stage.
// The last epoch of a stage ends with the stage, and the next stage begins with a new epoch, so the order of the data
// and the masks never repeat.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gyre/train/options.h"
#include "gyre/train/training_data.h"

namespace gyre {

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

}  // namespace gyre
