// Saves a run's checkpoints while it trains: rank 0 copies what a checkpoint holds, and a thread writes the copy.
#pragma once

#include <future>
#include <string>

#include "train/checkpoint.h"

namespace gyre {

struct SavingOptions {
  bool in_background = true;  // takes the memory of a copy: weights, moments and, where there is one, their average
  int keep_last = 5;          // checkpoints kept beside best; 0: all
  uint64_t keep_every = 0;    // those of every so many updates are kept for ever; 0: none
};

class CheckpointWriter {
 public:
  // `run`: rank 0's; none on ranks that write nothing.
  CheckpointWriter(const RunDirectory* run, const SavingOptions& options) : run_(run), options_(options) {}

  // Collective where ranks own shares of the optimizer. Waits for the one before. A checkpoint that could not be
  // written is told, and training goes on: the earlier ones still stand. After some in a row the error is thrown.
  void save(const Parameters& parameters, const Optimizer& optimizer, const TrainState& state, bool is_best);
  // Tells of one that has been written meanwhile.
  void look();
  // Waits for the last one; whether it was written.
  bool is_written();
  // Waits for the last one; throws when it could not be written.
  void finish();

 private:
  struct Outcome {
    std::string message, error;  // one of them
  };
  std::string prune() const;
  Outcome write(const CheckpointContent& content, bool is_best) const;
  void note(Outcome outcome);
  void settle();

  const RunDirectory* run_;
  SavingOptions options_;
  std::future<Outcome> writing_;
  std::string error_;  // of the last one
  int failed_in_a_row_ = 0;
};

}  // namespace gyre
