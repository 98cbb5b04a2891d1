#include "tools/page/tape/training_step.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "gyre/core/io/json.h"
#include "tools/page/tape/ranks_data.h"
#include "tools/page/tape/step_data.h"

namespace gyre {
namespace {

OwnStep own_step(const StepData& step, const CrossEntropySums& sums) {
  OwnStep own{.sums = sums, .nodes = {}, .gradients = {}};
  for (const TapeRow& row : step.rows) {
    if (row.parameter.empty()) continue;
    own.nodes[row.parameter] = row.id;
    const RecordedNode& record = step.nodes[size_t(row.id)];
    if (record.gradient) own.gradients[row.parameter] = &*record.gradient;
  }
  return own;
}

}  // namespace

Json training_step_json(Workload& work, Kernels& kernels, const TrainingStepOptions& options, Communicator& ranks) {
  CrossEntropySums sums;
  const auto record = [&](Tape& tape) {
    const LossResult result = work.loss(tape);
    sums = result.sums();
    return result.loss;
  };
  const StepFunction function{.record = record, .tape = page_tape_options(options.precision, ranks.rank())};
  StepData step = record_step(function, kernels, ranks.size());  // comes before others add to the gradients
  Json of_ranks;
  if (ranks.size() > 1)
    of_ranks =
        ranks_page_data(work, kernels, options.precision, ranks, options.bucket_mb, own_step(step, sums), step.limits);
  if (ranks.rank() > 0) return nullptr;
  step.costs = measure_nodes(function, kernels);
  step.differences = gradient_differences(work, kernels, step.rows, step.nodes, options.differences);
  Json data{{"loss", sums.loss}, {"predictions", sums.tokens}};
  data.update(step_json(step));
  if (!of_ranks.is_null()) data["ranks"] = std::move(of_ranks);
  return data;
}

}  // namespace gyre
