// Options of data parallelism: how a batch is divided into micro-batches, and how ranks exchange gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"
#include "gyre/core/option_list.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Data type of gradients in messages between ranks.
enum class GradientDtype : uint8_t { fp32, bf16 };
template <>
inline constexpr std::pair<GradientDtype, std::string_view> kEnumNames<GradientDtype>[] = {
    {GradientDtype::fp32, "fp32"}, {GradientDtype::bf16, "bf16"}};
inline DType dtype_of(GradientDtype type) { return type == GradientDtype::bf16 ? DType::bf16 : DType::f32; }

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

}  // namespace gyre
