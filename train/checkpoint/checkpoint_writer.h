// Asynchronous checkpoints for the training loop: rank 0 copies the state, and a background thread writes the copy.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <vector>

#include "gyre/core/tensor.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/checkpoint/run_directory.h"

namespace gyre {

// Collective reads of the tensors of a checkpoint, which all ranks must make in the same order.
// Replaces the sources of the tensors by ones that may be read in any order, as files are written: wide types come
// first. The reads themselves keep the order of the files, which is that of the other ranks: a tensor that is written
// earlier waits for the reads before its own, whose results are kept. If writing fails, the destructor makes the
// remaining reads.
class SharedReads {
 public:
  explicit SharedReads(std::vector<TensorFile>& files);
  ~SharedReads();
  SharedReads(const SharedReads&) = delete;
  SharedReads& operator=(const SharedReads&) = delete;

 private:
  Tensor take(size_t number);

  std::vector<std::function<Tensor()>> reads_;  // reads in the order of all ranks
  std::vector<Tensor> results_;                 // results of reads that were made before they were asked for
  size_t made_ = 0;
};

class CheckpointWriter {
 public:
  // `run`: the run directory on rank 0, nullptr on the other ranks, which write nothing.
  CheckpointWriter(const RunDirectory* run, const SavingOptions& options) : run_(run), options_(options) {}

  // Saves a checkpoint after waiting for the previous one. Collective if ranks own parts of the optimizer state. A
  // failure is logged and training continues, since earlier checkpoints still exist; the third failure in a row throws.
  void save(const Parameters& parameters, const Optimizer& optimizer, const TrainState& state, bool is_best);
  // Logs the result of a background write that has ended.
  void poll();
  // Waits for the last checkpoint. Returns whether it was written.
  bool is_written();
  // Waits for the last checkpoint. Throws if it could not be written.
  void finish();

 private:
  struct Outcome {
    std::string message, error;  // one of the two is empty
  };
  std::string prune() const;
  Outcome write(const CheckpointContent& content, bool is_best) const;
  void record(Outcome outcome);
  void wait_for_write();

  const RunDirectory* run_;
  SavingOptions options_;
  std::future<Outcome> writing_;
  std::string error_;  // error of the last checkpoint; empty if it was written
  int failed_in_a_row_ = 0;
};

}  // namespace gyre
