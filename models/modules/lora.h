// LoRA (Hu et al. 2022): low-rank adapters beside the linear layers of a model. Only the adapters are trained; the
// weights of the model, its base, keep their bits. A layer with an adapter computes
//   y = x W^T + scale (dropout(x) A^T) B^T,  A(rank, in), B(out, rank), scale = alpha / rank
// or, rank-stabilized (Kalajdzievski 2023), scale = alpha / sqrt(rank). A begins as PyTorch's linear layers, uniform
// with bound 1 / sqrt(in), and B with zeros, so that the model begins as its base.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/autograd/parameters.h"
#include "gyre/core/option_list.h"

namespace gyre {

struct LoraOptions {
  int64_t rank = 0;  // 0: no adapters
  double alpha = 16;
  bool rank_stabilized = false;
  std::vector<std::string> targets{"all-linear"};  // words and patterns of modules, see LoraAdapters
  double dropout = 0;

  double scale() const;
  void declare(OptionList& list);
  void validate(bool has_base) const;  // throws a UsageError if there is no base for the adapters
};

// A linear layer with a name of its own, as adapters have them: a whole weight, or one of the matrices that a weight
// stacks, such as "encoder.layers.0.self_attn.q_proj" in qkv_proj.
struct LinearModule {
  std::string name;
  Parameter* weight = nullptr;
  int64_t first = 0, rows = 0;  // rows of the weight

  bool is_whole() const { return rows == weight->shape[0]; }
};
// The last part of the name of a module: "q_proj" of "encoder.layers.0.self_attn.q_proj".
std::string_view last_part(std::string_view name);
// The linear layers inside a model; of a weight that stacks several matrices, first the matrices and then the whole.
std::vector<LinearModule> linear_modules(Parameters& base);

// The adapters of a base, which are parameters of their own: MODULE.lora_A.weight and MODULE.lora_B.weight.
class LoraAdapters {
 public:
  // Adapters of modules that are added one by one. Freezes the base, to which the adapters are attached; both must
  // stay where they are.
  LoraAdapters(Parameters& base, const LoraOptions& options);
  // Adds those that options.targets choose. A target is the name of a module, or the last part of one ("q_proj"), with
  // the wildcards * and ?, or a word of PEFT's: the modules of transformers (o_proj, c_attn, query, ..) or all-linear.
  // It chooses the matrices that a weight stacks rather than the whole; `fused`: all-linear chooses the whole. Throws a
  // UsageError if a target is no module of the base.
  LoraAdapters(Parameters& base, const LoraOptions& options, bool fused);
  LoraAdapters(const LoraAdapters&) = delete;
  LoraAdapters& operator=(const LoraAdapters&) = delete;

  void add(const LinearModule& module);

  // The adapters' values exist after parameters().allocate().
  Parameters& parameters() { return parameters_; }
  const std::vector<LinearModule>& modules() const { return modules_; }  // in the order of the parameters
  std::string describe() const;                                          // "LoRA of rank 8 on 12 linear layers"

  // Adds the products of the adapters to the weights of the base, detaches the adapters and ends the freezing.
  void merge();

 private:
  Parameters& base_;
  LoraOptions options_;
  Parameters parameters_;
  std::vector<LinearModule> modules_;
  std::vector<bool> trainable_;  // parameters of the base that were trainable before
};

}  // namespace gyre
