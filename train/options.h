// The options that every training run has, typed and validated once; each task adds its own (train/nmt_options.h).
// tools/ maps the command line and --config onto these fields; the resolved values are written to run/train.toml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/file.h"
#include "train/period.h"

namespace gyre {

struct OptimizerOptions {
  std::string kind = "adam";  // adam, adamw
  double learning_rate = 5e-4;
  double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9;
  double weight_decay = 0;
  double clip_norm = 0;  // 0: no clipping
  double ema = 0;        // decay of the moving average of the weights, 0: none
  // fairseq's inverse square root: init + n (lr - init) / W up to W updates, then lr sqrt(W) / sqrt(n).
  std::string schedule = "inverse-sqrt";  // inverse-sqrt, linear (to zero at total_updates), constant; all with warm-up
  uint64_t warmup = 4000;
  double warmup_percent = 0;  // above 0: this share of all updates instead
  double warmup_initial = 1e-7;
  double minimum_rate = 0;
  uint64_t total_updates = 0;  // for linear and warmup_percent; 0: the end of the run
};

// What a run that continues takes from its checkpoint beside the weights.
struct Reload {
  bool optimizer = true;  // the moments
  bool position = true;   // in the data; else the first epoch begins anew
  bool best = true;       // the best of each metric, and how long there was none better
};

struct TrainOptions {
  // data
  std::vector<Path> train_sets, valid_sets;  // raw text or token stores
  Path vocabulary;
  int max_length = 256;                 // tokens of a sentence
  std::string on_bad_line = "default";  // error, skip, or the default of each kind
  std::string shuffle = "data";         // data, none
  // batches
  uint64_t batch_words = 4096;       // size of a global batch, over all ranks and accumulation steps
  std::string batch_unit = "total";  // what batch_words counts: sentences, or the tokens that the task names
  uint64_t maxi_batch = 100;         // batches sorted by length at a time
  int accumulation = 1;              // shards a rank works through for one update
  int shards = 0;                    // 0: ranks * accumulation; with deterministic: 8
  bool deterministic = false;
  // optimisation
  std::string precision = "fp32";  // of activations and products: fp32, bf16 or auto
  OptimizerOptions optimizer;
  uint64_t seed = 1;
  Period after{0, Period::Unit::epochs};  // the end; 0: only early stopping ends the run
  // periods
  Period display_every{100, Period::Unit::updates}, save_every{1000, Period::Unit::updates},
      validate_every{1000, Period::Unit::updates};
  double display_seconds = 30;  // the log is silent no longer than this (train/log/progress.h); 0: as long as it may be
  // validation
  std::vector<std::string> valid_metrics{"cross-entropy"};  // the first decides best and early stopping
  int early_stopping = 0;                                   // validations without a better first metric; 0: off
  uint64_t valid_mini_batch = 64;                           // sentences at a time
  // checkpoints
  Path model;                      // the run directory
  int keep_last = 5;               // checkpoints kept beside best; 0: all
  uint64_t keep_every = 0;         // those of a multiple of so many updates are kept for ever; 0: none
  bool save_in_background = true;  // while training goes on, from a copy
  bool overwrite = false;          // start anew in a directory that holds a run
  bool auto_resume = true;         // continue the run that the directory holds; else it must hold none
  Reload reload;
  int most_skipped = 10;           // updates in a row with a gradient that is not finite
  Path replay;                     // a checkpoint: instead of training, make the updates after it once more
  uint64_t replay_updates = 1000;  // so many at most (train/replay.h)
  // device and parallelism
  std::string device = "cpu";  // cpu, cuda (of a rank: the GPU of its number among the machine's ranks) or cuda:N
  int threads = 0;             // a rank; 0: cores / ranks of the node
  double bucket_mb = 1;        // of gradient in one message
  std::string gradient_dtype = "fp32";  // of gradients on their way between ranks: fp32, bf16
  int zero = 0;                         // 1: ranks share the optimizer's state (ZeRO stage 1)
  double hang_timeout = 600;            // seconds in which all ranks must come to what they do together; 0: none
  bool quiet = false;
  std::optional<double> stop_after_time_minutes;  // of training, over all jobs of the run
  std::string resolved_toml;       // every option as `name = value` lines: rank 0 writes them to run/train.toml
  std::vector<std::string> notes;  // lines about the options, for the log

  virtual ~TrainOptions() = default;
  virtual bool has_validation_data() const { return !valid_sets.empty(); }
  bool validates() const;  // whether there is validation
  void validate() const;   // throws UsageError
};

}  // namespace gyre
