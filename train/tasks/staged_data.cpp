#include "gyre/train/tasks/staged_data.h"

#include <algorithm>
#include <utility>

#include "gyre/core/error.h"

namespace gyre {

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

}  // namespace gyre
