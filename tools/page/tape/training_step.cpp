#include "tools/page/tape/training_step.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/core/io/json.h"
#include "gyre/core/kernels/kernels.h"
#include "gyre/train/parallel/communicator.h"
#include "tools/page/tape/rank_step.h"
#include "tools/page/tape/step_data.h"
#include "tools/page/tape/tensor_sample.h"
#include "tools/workload/workload.h"

namespace gyre {
namespace {

// The data of a data-parallel step of several ranks, for the page of a training step (gyre inspect page under mpirun).

// The step that this rank has run alone: its part of the sums.
struct OwnStep {
  CrossEntropySums sums;
  std::map<std::string, int> nodes;                      // of the parameters
  std::map<std::string, const TensorSample*> gradients;  // by parameter; none if the loss does not depend on it
};

Json times_json(const RankStep& step) {
  Json backward = Json::array(), buckets = Json::array(), lookups = Json::array();
  for (const RankStep::Op& op : step.backward) backward.push_back({op.node, op.time.begin, op.time.end});
  for (const RankStep::Bucket& bucket : step.buckets) {
    Json& object = buckets.emplace_back(Json{{"leaves", bucket.leaves}});
    if (bucket.messages) object.update({{"begin", bucket.messages->begin}, {"end", bucket.messages->end}});
  }
  for (const Exchange& e : step.lookups)
    lookups.push_back({{"name", e.name}, {"bytes", e.bytes}, {"begin", e.begin}, {"end", e.end}});
  return {{"backward", backward},
          {"end_of_backward", step.end_of_backward},
          {"end", step.end},
          {"buckets", buckets},
          {"lookups", lookups}};
}

Json gradients_json(const OwnStep& own) {
  Json gradients = Json::object();
  for (const auto& [name, gradient] : own.gradients) gradients[name] = sample_json(*gradient);
  return gradients;
}

std::vector<const Parameter*> trainable(const Parameters& parameters) {
  std::vector<const Parameter*> chosen;
  for (const Parameter& p : parameters)
    if (p.trainable) chosen.push_back(&p);
  return chosen;
}

// ranks: the objects of all ranks. Moves their gradients to the parameters.
Json parameters_json(const Parameters& parameters, const OwnStep& own, const SampleLimits& limits,
                     std::vector<Json>& ranks) {
  Json list = Json::array();
  for (const Parameter* p : trainable(parameters)) {
    Json& object = list.emplace_back(Json{{"name", p->name}, {"elements", p->shape.elements()}});
    if (own.nodes.contains(p->name)) object["node"] = own.nodes.at(p->name);
    if (p->is_table) object["is_table"] = true;
    if (!own.gradients.contains(p->name)) continue;
    object["sum"] = sample_json(sample_tensor(p->gradient, limits));
    Json& gradients = object["gradients"] = Json::array();
    for (size_t rank = 1; rank < ranks.size(); ++rank)
      gradients.push_back(std::move(ranks[rank].at("gradients").at(p->name)));
  }
  for (Json& rank : ranks) rank.erase("gradients");
  return list;
}

Json buckets_json(const RankStep& step, const Parameters& parameters) {
  const std::vector<const Parameter*> all = trainable(parameters);
  Json buckets = Json::array();
  for (const RankStep::Bucket& bucket : step.buckets) {
    Json parts = Json::array();
    for (size_t i = 0; i < all.size(); ++i) {
      const ElementRange own = element_range(*all[i]);
      if (!overlap(own, bucket.range)) continue;
      const int64_t begin = std::max(own.begin, bucket.range.begin), end = std::min(own.end, bucket.range.end);
      parts.push_back({i, begin - own.begin, end - own.begin});
    }
    Json& object = buckets.emplace_back(Json{{"elements", bucket.range.size()}, {"parts", parts}});
    if (bucket.node >= 0) object["node"] = bucket.node;
  }
  return buckets;
}

// Collective. Runs the step of the batches drawn last with all-reduce of the gradients. Returns an object on rank 0,
// and null on the others. Times are seconds.
// - parameters, the trainable ones: name, node, elements, is_table, sum, and the gradients of all ranks except rank 0,
//   whose gradients are in the nodes
// - buckets, in the order in which they are reduced: elements, node after whose backward it leaves, and parts:
//   [number of the parameter, first element, end]
// - ranks: loss, predictions, backward [node, begin, end], end_of_backward, end, buckets {leaves, begin, end}, lookups
//   {name, bytes, begin, end}
Json ranks_page_data(Workload& work, Kernels& kernels, Precision precision, Communicator& ranks, double bucket_mb,
                     const OwnStep& own, const SampleLimits& limits) {
  const RankStep step = run_rank_step(work, kernels, precision, ranks, bucket_mb);
  Json rank{{"loss", own.sums.loss}, {"predictions", own.sums.tokens}};
  rank.update(times_json(step));
  if (ranks.rank() > 0) rank["gradients"] = gradients_json(own);
  std::vector<Json> all;
  for (const std::string& text : ranks.gather(rank.dump(), 0))
    all.push_back(parse_ordered_json(text, kMaxJsonDepth, "[ranks] ", "the data of a rank"));
  if (ranks.rank() > 0) return nullptr;
  const Parameters& parameters = work.parameters();
  Json list = parameters_json(parameters, own, limits, all);
  return {{"parameters", std::move(list)}, {"buckets", buckets_json(step, parameters)}, {"ranks", std::move(all)}};
}

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
