#include "gyre/train/checkpoint/checkpoint_writer.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "gyre/core/error.h"

namespace gyre {

SharedReads::SharedReads(std::vector<TensorFile>& files) {
  for (TensorFile& file : files) {
    for (TensorSource& tensor : file.tensors) {
      reads_.push_back(tensor.read);
      tensor.read = [this, number = reads_.size() - 1] { return take(number); };
    }
  }
  results_.resize(reads_.size());
}

SharedReads::~SharedReads() {
  while (made_ < reads_.size()) reads_[made_++]();
}

Tensor SharedReads::take(size_t number) {
  while (made_ <= number) {
    const size_t next = made_++;
    results_[next] = reads_[next]();
  }
  return std::exchange(results_[number], {});
}

namespace {

constexpr int kMaxFailed = 3;  // limit of failures in a row

template <class F>
void for_each_tensor(CheckpointContent& content, F&& f) {
  for (TensorFile& file : content.files) {
    for (TensorSource& tensor : file.tensors) f(tensor);
  }
}

// Replaces the sources by copies on the CPU, so that training may continue while they are written.
void copy_tensors(CheckpointContent& content) {
  for_each_tensor(content, [](TensorSource& t) {
    Tensor copy = Tensor::empty(t.shape, t.dtype);
    copy.copy_from(t.read());
    t.read = [copy = std::move(copy)] { return copy; };
  });
}

}  // namespace

void CheckpointWriter::save(const Parameters& parameters, const Optimizer& optimizer, const TrainState& state,
                            bool is_best) {
  if (run_ == nullptr && !optimizer.is_sharded()) return;
  wait_for_write();
  CheckpointContent content = checkpoint_content(parameters, optimizer, state);
  if (run_ == nullptr) {
    for_each_tensor(content, [](TensorSource& t) { t.read(); });
  } else if (options_.in_background) {
    copy_tensors(content);
    writing_ = std::async(std::launch::async,
                          [this, content = std::move(content), is_best] { return write(content, is_best); });
  } else {
    const SharedReads reads(content.files);
    record(write(content, is_best));
  }
}

CheckpointWriter::Outcome CheckpointWriter::write(const CheckpointContent& content, bool is_best) const {
  try {
    const Path checkpoint = write_checkpoint(*run_, content);
    if (is_best) run_->mark_best(checkpoint);
    run_->notify(SaveStage::best, content.state.progress.updates);
    return {concat("saved ", checkpoint.string(), is_best ? " (best)" : "", prune()), ""};
  } catch (const std::exception& error) {
    return {"", error.what()};
  }
}

// Removes old checkpoints. Returns an addition to the log message: a failure does not affect the new checkpoint.
std::string CheckpointWriter::prune() const {
  try {
    run_->prune(options_.keep_last, options_.keep_every);
    return "";
  } catch (const std::exception& error) {
    return concat("; older checkpoints could not be removed: ", error.what());
  }
}

void CheckpointWriter::record(Outcome outcome) {
  error_ = std::move(outcome.error);
  if (error_.empty()) {
    failed_in_a_row_ = 0;
    spdlog::info(outcome.message);
    return;
  }
  require(++failed_in_a_row_ < kMaxFailed, "[checkpoint] ", kMaxFailed,
          " checkpoints in a row could not be written; the last: ", error_);
  spdlog::error("the checkpoint could not be written, training continues: {}", error_);
}

void CheckpointWriter::wait_for_write() {
  if (writing_.valid()) record(writing_.get());
}

void CheckpointWriter::poll() {
  if (writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) wait_for_write();
}

bool CheckpointWriter::is_written() {
  wait_for_write();
  return error_.empty();
}

void CheckpointWriter::finish() {
  require(is_written(), "[checkpoint] the last checkpoint could not be written: ", error_);
}

}  // namespace gyre
