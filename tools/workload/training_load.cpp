#include "tools/workload/training_load.h"

#include <algorithm>

#include "gyre/train/optim/update_rule.h"
#include "tools/workload/plan_load.h"

namespace gyre {
namespace {

constexpr int64_t kSampleTokens = 2048;  // tokens of the measured batch, on all sides

// Number of tokens in a global batch, over all sides that pass through the model.
double batch_tokens(const TrainOptions& o, double tokens_of_item, double sides) {
  if (o.batch.unit == "sentences") return double(o.batch.size) * tokens_of_item;
  return double(o.batch.size) * (o.batch.unit == "total" ? 1 : sides);
}

}  // namespace

int measured_items(double item_tokens) { return std::max(1, int(double(kSampleTokens) / item_tokens)); }

PlanLoad training_load(Workload& work, const TrainOptions& options, Kernels& kernels, Precision precision,
                       double item_tokens, double sides) {
  const int64_t tokens = work.draw(0);
  PlanLoad load = measure_load(work, work.parameters(), kernels, precision, tokens, !options.parallel.deterministic);
  load.tokens = batch_tokens(options, item_tokens, sides);
  load.item_tokens = item_tokens;
  load.state_arenas = int(make_update_rule(options.optimizer)->slots().size()) + (options.optimizer.ema > 0 ? 1 : 0);
  load.bucket_bytes = options.parallel.bucket_mb_on(kernels.device()) * kMebibyte;
  load.parallel = options.parallel;
  return load;
}

const GpuModel* planned_gpu(const std::string& device) {
  if (const GpuModel* const kind = find_gpu_model(device)) return kind;
  try {
    parse_device(device, 0);
  } catch (const UsageError&) {
    std::string kinds;
    for (const std::string& name : gpu_model_names()) kinds += name + ", ";
    throw UsageError("[--device] expected a kind of GPU (", kinds.substr(0, kinds.size() - 2),
                     "), cpu, cuda or cuda:N, got '", device, "'");
  }
  return nullptr;
}

}  // namespace gyre
