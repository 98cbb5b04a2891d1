#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/train/optim/update_plan.h"

namespace gyre::test {
namespace {

void add_encoder(Parameters& parameters) {
  parameters.add_table("embed_tokens.weight", {10, 4}, Init::normal(1));
  for (const char* name : {"encoder.layers.0.fc1", "encoder.layers.1.fc1", "classification_head.dense"}) {
    parameters.add(std::string(name) + ".weight", {4, 4}, Init::normal(1)).matrix_rows = {4};
    parameters.add(std::string(name) + ".bias", {4}, Init::normal(1), false);
  }
  parameters.allocate(1);
}

}  // namespace

TEST_CASE("parameter groups: by default, weights decay, and norms and biases do not") {
  Parameters parameters;
  add_encoder(parameters);
  OptimizerOptions options;
  options.weight_decay = 0.1;
  for (const ParameterGroup& g : parameter_groups(parameters, options)) CHECK(g.rate_factor == 1);
  CHECK(parameter_groups(parameters, options)[1].weight_decay == 0.1);
  CHECK(parameter_groups(parameters, options)[2].weight_decay == 0);
}

TEST_CASE("parameter groups: the last pattern that matches counts") {
  Parameters parameters;
  add_encoder(parameters);
  OptimizerOptions options;
  options.weight_decay = 0.1;
  options.decays = {{"*", 0.5}, {"*.bias", 0.25}};
  options.rate_factors = {{"encoder.layers.?.*", 2}, {"*.1.fc1.weight", 3}};
  const auto groups = parameter_groups(parameters, options);
  CHECK(groups == std::vector<ParameterGroup>{{1, 0.5}, {2, 0.5}, {2, 0.25}, {3, 0.5}, {2, 0.25}, {1, 0.5}, {1, 0.25}});
  options.decays.push_back({"decoder.*", 1});
  CHECK_THROWS_WITH_AS(parameter_groups(parameters, options), doctest::Contains("[--decay-for]"), UsageError);
}

TEST_CASE("layer-wise decay: the head has the full rate, the embeddings the smallest") {
  Parameters parameters;
  add_encoder(parameters);
  OptimizerOptions options;
  options.layer_decay = 0.5;
  std::vector<double> factors;
  for (const ParameterGroup& g : parameter_groups(parameters, options)) factors.push_back(g.rate_factor);
  CHECK(factors == std::vector<double>{0.125, 0.25, 0.25, 0.5, 0.5, 1, 1});

  Parameters bert;  // with shared and own position tables, and a norm and a projection of the embeddings
  for (const char* name : {"embed_token_types.weight", "encoder.embed_positions.weight",
                           "encoder.layernorm_embedding.weight", "encoder.embeddings_project.weight",
                           "encoder.embed_positions.layers.1.weight", "encoder.layers.1.w", "lm_head.bias"})
    bert.add(name, {2}, Init::constant(0));
  factors.clear();
  for (const ParameterGroup& g : parameter_groups(bert, options)) factors.push_back(g.rate_factor);
  CHECK(factors == std::vector<double>{0.125, 0.125, 0.125, 0.125, 0.5, 0.5, 1});

  Parameters two;
  two.add("encoder.layers.0.w", {2}, Init::constant(0));
  two.add("decoder.layers.0.w", {2}, Init::constant(0));
  CHECK_THROWS_WITH_AS(parameter_groups(two, options), doctest::Contains("one stack of layers"), UsageError);
  Parameters none;
  none.add("w", {2}, Init::constant(0));
  CHECK_THROWS_WITH_AS(parameter_groups(none, options), doctest::Contains("a model with layers"), UsageError);
}

TEST_CASE("freeze: sets parameters that match aside, and keeps some to train") {
  Parameters parameters;
  add_encoder(parameters);
  freeze(parameters, {"embed_*", "encoder.layers.0.*"});
  std::vector<bool> trainable;
  for (const Parameter& p : parameters) trainable.push_back(p.trainable);
  CHECK(trainable == std::vector<bool>{false, false, false, true, true, true, true});
  CHECK_THROWS_WITH_AS(freeze(parameters, {"embed"}), doctest::Contains("[--freeze]"), UsageError);
  CHECK_THROWS_WITH_AS(freeze(parameters, {"*"}), doctest::Contains("leave parameters to train"), UsageError);
}

TEST_CASE("runs of matrices: each is owned by one rank, the longest first") {
  Parameters parameters;
  for (const auto& [name, rows] : {std::pair{"a", 8}, {"b", 40}, {"c", 16}, {"d", 24}})
    parameters.add(name, {rows, 16}, Init::constant(0)).matrix_rows = {rows};
  parameters.add("norm", {5}, Init::constant(0));
  parameters.add("bias", {3}, Init::constant(0));
  parameters.allocate(1);
  std::vector<int> owners;
  std::vector<int64_t> begins;
  for (const ArenaSpan& run : spans_of_matrices(parameters, 2)) {
    owners.push_back(run.owner);
    begins.push_back(run.range.begin);
  }
  CHECK(owners == std::vector<int>{0, 0, 1, 1, kSharedByRanks});  // costs 1024, 10240, 4096, 6144
  CHECK(begins == std::vector<int64_t>{0, 128, 768, 1024, 1408});
}

TEST_CASE("plan: matrices of a stack follow one another, and elements of others are in ranges by group") {
  Parameters parameters;
  parameters.add("qkv", {12, 5}, Init::constant(0)).matrix_rows = {6, 4, 2};
  parameters.add("bias", {12}, Init::constant(0), false);
  parameters.add("out", {3, 6}, Init::constant(0)).matrix_rows = {3};
  parameters.allocate(1);
  const std::vector<ParameterGroup> groups{{1, 0.1}, {1, 0}, {2, 0.1}};
  const FullPartition all(parameters.values().size());
  const UpdatePlan plan = plan_update(parameters, groups, all, true, Device{});
  CHECK(plan.elements.table.to_vector<int32_t>() == std::vector<int32_t>{0, 4, 4, 0, 0});
  CHECK(plan.elements.groups.to_vector<double>() == std::vector<double>{1, 0});
  REQUIRE(plan.matrices.size() == 4);
  const UpdateMatrix &values = plan.matrices[2], &out = plan.matrices[3];
  CHECK(std::vector<int64_t>{values.begin, values.gradient, values.state, values.row_state, values.rows, values.cols} ==
        std::vector<int64_t>{50, 50, 50, 10, 2, 5});
  CHECK(std::vector<int64_t>{out.begin, out.gradient, out.state, out.row_state, out.rows, out.cols} ==
        std::vector<int64_t>{80, 80, 64, 12, 3, 6});
  CHECK(out.group == groups[2]);
  CHECK(plan.matrix_rows == 15);

  const UpdatePlan elements = plan_update(parameters, groups, all, false, Device{});
  CHECK(elements.matrices.empty());
  CHECK(elements.elements.table.dim(0) == 3);
}

TEST_CASE("intersection of ranges") {
  const std::vector<ElementRange> both = intersection({{0, 10}, {20, 30}, {40, 41}}, {{5, 25}, {28, 50}});
  REQUIRE(both.size() == 4);
  CHECK((both[0].begin == 5 && both[0].end == 10));
  CHECK((both[1].begin == 20 && both[1].end == 25));
  CHECK((both[2].begin == 28 && both[2].end == 30));
  CHECK((both[3].begin == 40 && both[3].end == 41));
}

}  // namespace gyre::test
