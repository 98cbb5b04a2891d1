// The options common to all training runs, grouped by the component that reads them. Tasks add further options
// (train/tasks/translation/nmt_options.h). Each struct declares its options in `declare`; the command line and --config
// set the fields, and the resolved values are written to run/train.toml.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gyre/autograd/recompute.h"
#include "gyre/core/enum_names.h"
#include "gyre/core/io/file.h"
#include "gyre/core/option_list.h"
#include "gyre/core/tensor.h"
#include "gyre/data/batch/batch_plan.h"
#include "gyre/data/text/line_report.h"
#include "gyre/train/checkpoint/progress.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/optim/optimizer_options.h"

namespace gyre {

struct DataOptions {
  std::vector<Path> train_sets, valid_sets;  // raw text or token stores
  Path vocabulary, target_vocabulary;        // one of both languages, or one of each; empty: no other for targets
  int max_length = 256;                      // maximum number of tokens of a sentence
  OnBadLine on_bad_line = OnBadLine::by_kind;
};

// What is shuffled in every epoch.
enum class Shuffle : uint8_t { data, none };
template <>
inline constexpr std::pair<Shuffle, std::string_view> kEnumNames<Shuffle>[] = {{Shuffle::data, "data"},
                                                                               {Shuffle::none, "none"}};

// Grouping of the sentences of an epoch into global batches.
struct BatchingOptions {
  uint64_t size = 4096;                      // size of a global batch, over all ranks and accumulation steps
  BatchUnit unit = BatchUnit::total_tokens;  // one of those of the task
  uint64_t maxi_batch = 100;                 // number of batches sorted by length together
  Shuffle shuffle = Shuffle::data;
};

// A part of a run with samples, batches and data of its own (staged pretraining). The weights, the optimizer's state
// and all counters carry on from stage to stage.
struct RunStage {
  uint64_t begin = 0, updates = 0;  // the number of updates before it, and its own
  int max_length = 0;               // maximum number of tokens of a sample
  BatchingOptions batch;

  uint64_t end() const { return begin + updates; }
};

// Data type of gradients in messages between ranks.
enum class GradientDtype : uint8_t { fp32, bf16 };
template <>
inline constexpr std::pair<GradientDtype, std::string_view> kEnumNames<GradientDtype>[] = {
    {GradientDtype::fp32, "fp32"}, {GradientDtype::bf16, "bf16"}};
inline DType dtype_of(GradientDtype type) { return type == GradientDtype::bf16 ? DType::bf16 : DType::f32; }

// Data parallelism: how a batch is divided into micro-batches, and how ranks exchange gradients.
inline constexpr int kMaxMicroBatches = 65536;  // limit per global batch

struct ParallelOptions {
  int accumulation = 1;   // micro-batches per rank and update
  int micro_batches = 0;  // number per global batch; 0: ranks * accumulation, or 8 with `deterministic`
  bool deterministic = false;
  std::optional<double> bucket_mb = {};  // size of a gradient bucket in MiB; default: see bucket_mb_on()
  GradientDtype gradient_dtype = GradientDtype::fp32;
  bool shared_memory = true;      // ranks of a machine exchange gradients in shared memory, if they can
  int zero = 0;                   // ZeRO stage: 1 shards the optimizer's state over the ranks, 2 also gradients
  double watchdog_timeout = 600;  // time limit of a collective in seconds; 0: none

  void declare(OptionList& list);
  void declare_micro_batches(OptionList& list);  // declares those of the division into micro-batches
  void declare_exchange(OptionList& list);       // declares those of the exchange of gradients
  void validate() const;                         // throws UsageError
  // Small buckets start early and hide better behind backward. An all-reduce of GPUs has a fixed cost of tens of
  // microseconds, in which NVLink moves several MiB, so that GPUs need larger ones.
  double bucket_mb_on(Device device) const { return bucket_mb.value_or(device == Device{} ? 1 : 32); }
  // Whether the number of micro-batches of a global batch does not depend on the ranks.
  bool fixes_micro_batches() const { return micro_batches > 0 || deterministic; }
  // The number of micro-batches of a global batch on this many ranks.
  int micro_batches_on(int ranks) const;
};

struct DeviceOptions {
  std::string name = "cpu";  // cpu, cuda (the GPU whose number is the rank's local rank) or cuda:N
  int threads = 0;           // threads per rank; 0: as many as the rank has cores
  // Precision of activations and matrix products; empty: bf16 if the device supports it, else fp32.
  std::optional<Precision> precision = Precision::fp32;
  Recompute recompute = Recompute::none;  // activations that backward computes again
};

// Conditions that end a run.
struct StopOptions {
  Period after{0, Period::Unit::epochs};  // 0: only early stopping or the time limit ends the run
  int early_stopping = 0;                 // patience in validations of the first metric; 0: off
  std::optional<double> minutes;          // limit of the training time over all jobs of the run
  int max_skipped = 10;                   // maximum number of consecutive updates with a gradient that is not finite
};

struct ValidationOptions {
  std::vector<std::string> metrics{"cross-entropy"};  // the first selects the best checkpoint and stops early
  Period every{1000, Period::Unit::updates};
  uint64_t mini_batch = 64;  // sentences per batch
};

struct CheckpointOptions {
  Period every{1000, Period::Unit::updates};
  SavingOptions saving;
};

struct LoggingOptions {
  Period every{100, Period::Unit::updates};  // interval between entries of metrics.jsonl
  double seconds = 30;                       // longest time between progress lines (ProgressPace); 0: no limit
  bool quiet = false;
};

// Repeats the updates after a checkpoint instead of training (train/step.h).
struct ReplayOptions {
  Path checkpoint;
  uint64_t updates = 1000;  // maximum number of updates to repeat
};

// The default warm-up of runs that start from a pretrained model, which are short: percent of all updates.
inline constexpr double kFineTuningWarmup = 10;

// The options as given, for the run directory and the log.
struct OptionRecord {
  std::string toml;                // every option as a `name = value` line, for run/train.toml
  std::vector<std::string> notes;  // remarks about the options for the log, one line each
};

// What a task says about the options of every run.
struct TaskWords {
  std::vector<BatchUnit> batch_units = enum_values<BatchUnit>();
  std::string batch_unit_help = "";
  std::vector<std::string> valid_metrics = {};
  std::string learning_rate_help = "peak learning rate";
};

struct TrainOptions {
  DataOptions data;
  BatchingOptions batch;
  OptimizerOptions optimizer;
  DeviceOptions device;
  ParallelOptions parallel;
  StopOptions stop;
  ValidationOptions validation;
  CheckpointOptions checkpoint;
  LoggingOptions log;
  StartOptions start;
  ReplayOptions replay;
  OptionRecord record;
  uint64_t seed = 1;

  virtual ~TrainOptions() = default;
  // Lists the options of the run. A task lists its own besides.
  virtual void declare(OptionList& list) { declare_training(list, {}); }
  // The same options with their defaults.
  virtual std::unique_ptr<TrainOptions> with_defaults() const { return std::make_unique<TrainOptions>(); }
  virtual bool has_validation_data() const { return !data.valid_sets.empty(); }
  bool validates() const;  // whether the run has validations
  // Whether the number of updates of the run will be known, so that the schedule may depend on it.
  bool has_total_updates() const;
  void validate() const;  // throws a UsageError if an option is invalid
  // Likewise, for a plan or a check of the data, which need no run directory and no end of the run.
  void validate_update() const;

 protected:
  void declare_training(OptionList& list, const TaskWords& words);
};

// The initial weights of a new run (train/tasks/initial_weights.h), of a task that trains all parts of a model.
Option pretrained_model_option(Path* model);

// The options of a task after validation, which cannot be changed anymore. Training takes options in this form, so they
// are validated once.
template <class Options>
class Resolved {
 public:
  // Implicit, so that callers can pass plain options. Throws a UsageError if an option is invalid.
  Resolved(Options options) : options_(std::move(options)) { options_.validate(); }
  const Options& operator*() const { return options_; }
  const Options* operator->() const { return &options_; }

 private:
  Options options_;
};

}  // namespace gyre
