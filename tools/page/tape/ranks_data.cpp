#include "tools/page/tape/ranks_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/io/json.h"
#include "tools/page/tape/rank_step.h"

namespace gyre {
namespace {

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

}  // namespace

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

}  // namespace gyre
