// Greedy continuations of prompts by a causal language model, for the commands that score them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gyre/core/io/file.h"
#include "gyre/models/decode/generate.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/options/computing_options.h"
#include "tools/options/model_choice.h"

namespace gyre {

// Sets the id that ends a text, and those that are never chosen because they are no text.
void set_special_ids(GenerationOptions& options, const Vocabulary& vocabulary);

// Options of the model and of its execution.
struct GreedyOptions {
  Path model, vocabulary;
  std::string checkpoint;
  BosChoice bos;
  uint64_t mini_batch = 8;
  DeviceChoice device;
  PrecisionChoice precision;
  CpuThreads threads;

  void add_model_rows(OptionTable& table);
  void add_execution_rows(OptionTable& table);
  void check() const;  // throws UsageError
};

struct GreedyPrompt {
  std::vector<int32_t> ids;
  std::string text;  // text of the ids
  int max_tokens = 0;
  bool is_first_line = false;  // whether the continuation ends with its first line that is not empty
};

class GreedyGenerator {
 public:
  // Loads the model and prints to standard error which one it is. Ends and the repetition penalty of an imported model
  // are those of its generation_config.json. `options` must outlive the object. Throws an Error.
  explicit GreedyGenerator(const GreedyOptions& options);

  const Vocabulary& vocabulary() const { return *trained_.vocabulary; }
  // The ids of a text, with those before a text that the model reads.
  std::vector<int32_t> encode(const std::string& text) const;
  // The largest number of tokens of a prompt with its continuation: the training length if it is known, otherwise the
  // positions of the model; 0: unlimited.
  int64_t context() const;
  int64_t longest() const { return trained_.model->longest(); }  // the positions of the model

  // The text of each continuation.
  std::vector<std::string> run(const std::vector<GreedyPrompt>& prompts) const;

 private:
  void run_batch(const std::vector<GreedyPrompt>& prompts, size_t begin, size_t end,
                 std::vector<std::string>& texts) const;

  const GreedyOptions& options_;
  TrainedModel<EncoderOnly> trained_;
  GenerationOptions generation_;
  std::vector<int32_t> before_;  // ids before a text
};

}  // namespace gyre
