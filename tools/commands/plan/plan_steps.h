// Plans the steps of a training run, or of one of its stages: measured on this machine, or predicted for GPUs of a
// kind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/train/options.h"
#include "tools/command_line/option_table.h"
#include "tools/workload/plan.h"
#include "tools/workload/workload.h"

namespace gyre {

// The options of gyre plan besides those of training.
struct PlanArgs {
  std::vector<int> ranks{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  int64_t vocabulary_size = 32000;  // if there is no --vocab
  int sentence_length = 30;
  uint64_t epoch_items = 0;  // pairs, samples or rows of an epoch; 0: unknown
  double link_gbit = 10, latency_us = 30;
  double gflops = 0, memory_gb = 0;
  int gpus_per_node = 8;
  double node_link_gb = 0, launch_us = 0;
  bool weak = false;
  bool json = false;
  const OptionTable* table = nullptr;

  // The size of the vocabulary, from --vocab-size or from the file --vocab.
  int64_t pieces(const Path& vocabulary) const;
  // Throws a UsageError if an option is out of range. `max_length`: of the training samples.
  void check(int max_length) const;
};

// The predicted steps, a row for each number of ranks, and how to show them.
struct PlannedSteps {
  std::vector<PlanRow> rows;
  double items_per_step = 1;               // pairs, samples or rows of the global batch of the first row
  std::vector<double> target_tokens{};     // tokens of a global batch, for each row
  Json summary;                            // JSON of the first row; with args.json also all rows
  std::function<void()> print;             // prints the rows as a table
  std::vector<std::string> assumptions{};  // figures that were not measured
};

// The batches to plan for. make(items, device): creates the workload of a batch of `items` items, each with
// `item_tokens` tokens on all `sides` sides.
struct PlannedBatches {
  double item_tokens = 1, sides = 1;
  MakeBatch make;
};

// pieces: the size of the vocabulary of the model that batches.make() creates.
// Throws a UsageError for options that cannot be planned.
PlannedSteps plan_steps(const PlanArgs& args, const TrainOptions& options, int64_t pieces,
                        const PlannedBatches& batches);

}  // namespace gyre
