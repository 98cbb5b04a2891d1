#include "train/reducer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "autograd/ops.h"
#include "core/random.h"
#include "tests/mpi/ranks.h"
#include "train/shard_tree.h"

namespace gyre::test {
namespace {

// Layers of different widths, some ending in odd sizes, so that buckets end at uneven places.
constexpr std::array<int64_t, 6> kWidths{24, 7, 130, 65, 190, 3};

void add_parameters(Parameters& parameters) {
  for (size_t i = 1; i < kWidths.size(); ++i) {
    const std::string layer = "layer." + std::to_string(i);
    parameters.add(layer + ".weight", {kWidths[i], kWidths[i - 1]}, Init::normal(0.2));
    parameters.add(layer + ".bias", {kWidths[i]}, Init::constant(0.1), false);
  }
  parameters.add("unused", {11}, Init::constant(1));
  parameters.allocate(3);
}

// Backward of a small network on the data of one shard; adds to the gradients.
void backward(Parameters& parameters, int shard, const std::function<void(Tape&)>& before_backward = {}) {
  Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 1});
  std::vector<float> numbers(size_t(5 * kWidths[0]));
  RandomStream random(17, uint64_t(shard));
  for (float& x : numbers) x = float(random.normal());
  Var x = tape.constant(Tensor::from({5, kWidths[0]}, numbers));
  for (size_t i = 0; i + 1 < kWidths.size(); ++i) {
    x = linear(x, tape.parameter(parameters[2 * i]), tape.parameter(parameters[2 * i + 1]));
    if (i + 2 < kWidths.size()) x = gelu(x);
  }
  const Tensor targets = Tensor::from({5}, std::vector<int32_t>{0, 2, 1, 0, 2});
  const Var loss = cross_entropy(x, targets, 0.1).loss;
  if (before_backward) before_backward(tape);
  tape.backward(loss);
}

// The gradient of each shard, computed on this rank alone.
std::vector<std::vector<float>> all_shards(Parameters& parameters, int shards) {
  std::vector<std::vector<float>> gradients;
  for (int s = 0; s < shards; ++s) {
    parameters.gradients().zero();
    backward(parameters, s);
    gradients.push_back(parameters.gradients().to_vector<float>());
  }
  return gradients;
}

float tree(const std::vector<std::vector<float>>& gradients, size_t element, int begin, int end) {
  if (end - begin == 1) return gradients[size_t(begin)][element];
  int middle = begin + 1;
  while (2 * (middle - begin) < end - begin) middle = begin + 2 * (middle - begin);
  return tree(gradients, element, begin, middle) + tree(gradients, element, middle, end);
}

TEST_CASE("the tree adds shards in one order, whatever the number of ranks") {
  Parameters parameters;
  add_parameters(parameters);
  for (int shards : {4, 5, 7, 8, 9, 13}) {
    CAPTURE(shards);
    if (shards < ranks().size()) continue;  // every rank has one, or more
    const auto expected = all_shards(parameters, shards);
    GradientReducer reducer(ranks(), cpu_kernels(), parameters,
                            {.bucket_mb = 0.02, .shards = shards, .deterministic = true});
    const ShardRange own = shards_of_rank(shards, ranks().size(), ranks().rank());
    for (int update = 0; update < 2; ++update) {  // a reducer is used again and again
      parameters.gradients().zero();
      for (int s = own.begin; s < own.end; ++s) {
        backward(parameters, s, [&](Tape& tape) {
          if (s + 1 == own.end) tape.add_observer(reducer.begin_last_shard());
        });
        reducer.end_shard();
      }
      reducer.finish();
      const std::vector<float> sum = parameters.gradients().to_vector<float>();
      for (size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == tree(expected, i, 0, shards));
    }
  }
}

// This rank's shards through the reducer.
void reduce(GradientReducer& reducer, Parameters& parameters, int per_rank) {
  parameters.gradients().zero();
  for (int i = 0; i < per_rank; ++i) {
    backward(parameters, per_rank * ranks().rank() + i, [&](Tape& tape) {
      if (i + 1 == per_rank) tape.add_observer(reducer.begin_last_shard());
    });
    reducer.end_shard();
  }
  reducer.finish();
}

TEST_CASE("buckets sum all shards of all ranks, for any bucket size and whatever travels") {
  Parameters parameters;
  add_parameters(parameters);
  constexpr int kPerRank = 2;
  const int shards = kPerRank * ranks().size();
  const auto single = all_shards(parameters, shards);
  for (const DType wire : {DType::f32, DType::bf16}) {
    for (double bucket_mb : {0.0, 0.02, 0.05, 100.0}) {
      CAPTURE(bucket_mb);
      GradientReducer reducer(ranks(), cpu_kernels(), parameters,
                              {.bucket_mb = bucket_mb, .shards = shards, .wire = wire});
      const bool exact = wire == DType::f32 || ranks().size() == 1;
      for (int update = 0; update < 2; ++update) {
        reduce(reducer, parameters, kPerRank);
        const std::vector<float> sum = parameters.gradients().to_vector<float>();
        for (size_t i = 0; i < sum.size(); ++i) {
          double expected = 0, size = 0;
          for (const auto& gradient : single) expected += double(gradient[i]), size += std::abs(double(gradient[i]));
          // bf16 rounds each rank's part and the sum by 2^-8 of it.
          REQUIRE(std::abs(double(sum[i]) - expected) <= (exact ? 1e-5 * (1 + size) : size / 127));
        }
      }
    }
  }
}

TEST_CASE("shared sums: each rank gets its own elements, and gives them to all") {
  Parameters parameters;
  add_parameters(parameters);
  const ReducerOptions options{.bucket_mb = 0.02, .shards = ranks().size(), .deterministic = true};
  GradientReducer whole(ranks(), cpu_kernels(), parameters, options);
  reduce(whole, parameters, 1);
  const std::vector<float> expected = parameters.gradients().to_vector<float>();
  ReducerOptions sharded = options;
  sharded.sharded = true;
  GradientReducer reducer(ranks(), cpu_kernels(), parameters, sharded);
  CHECK(reducer.is_shared() == (ranks().size() > 1));
  reduce(reducer, parameters, 1);
  const Tensor gradients = parameters.gradients();
  std::vector<double> owners(expected.size());
  for (const ElementRange& range : reducer.owned()) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      REQUIRE(gradients.data<float>()[i] == expected[size_t(i)]);
      owners[size_t(i)] = 1;
    }
  }
  ranks().all_reduce(std::span<double>(owners));
  CHECK(std::all_of(owners.begin(), owners.end(), [](double n) { return n == 1; }));
  if (reducer.is_shared()) reducer.share(gradients, {0, gradients.size()});
  CHECK(gradients.to_vector<float>() == expected);
}

// Two tables around a layer, the first of them the output layer too; shards look up rows of their own, one shard none.
constexpr int64_t kRows = 701, kDim = 24;

void add_tables(Parameters& parameters) {
  parameters.add_table("tied", {kRows, kDim}, Init::normal(0.2));
  parameters.add("layer", {kDim, kDim}, Init::normal(0.2));
  parameters.add_table("source", {kRows / 2, kDim}, Init::normal(0.2));
  parameters.allocate(4);
}

void backward_of_tables(Parameters& parameters, int shard, GradientReducer* reducer = nullptr) {
  if (shard == 1) return;
  TapeObserver* const observer = reducer ? &reducer->begin_last_shard() : nullptr;
  Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 1, .unit_cotangent = true});
  const Tensor ids = Tensor::from({4}, std::vector<int32_t>{5, 17 * shard, 5, int32_t(kRows) - 1 - shard});
  const Var table = tape.parameter(parameters[0]);
  Var x = add(embedding(table, ids, 2),
              embedding(tape.parameter(parameters[2]), Tensor::from({4}, std::vector<int32_t>{shard, 3, 3, 349})));
  x = add(linear(x, tape.parameter(parameters[1])), embedding(table, ids));
  const Var loss = cross_entropy(linear(x, table), ids, 0.1).loss;
  if (observer) tape.add_observer(*observer);
  tape.backward(loss);
}

TEST_CASE("tables: their lookups travel apart, and the sum is that of all shards") {
  Parameters parameters;
  add_tables(parameters);
  const int rank = ranks().rank(), size = ranks().size();
  parameters.gradients().zero();
  for (int shard = 0; shard < 2 * size; ++shard) backward_of_tables(parameters, shard);
  const std::vector<float> expected = parameters.gradients().to_vector<float>();
  for (const bool sharded : {false, true}) {
    for (const double bucket_mb : {0.0, 0.05, 100.0}) {
      CAPTURE(sharded);
      CAPTURE(bucket_mb);
      GradientReducer reducer(ranks(), cpu_kernels(), parameters,
                              {.bucket_mb = bucket_mb, .shards = 2 * size, .sharded = sharded});
      for (int update = 0; update < 2; ++update) {
        parameters.gradients().zero();
        for (const int shard : {rank + size, rank}) {  // rank 1's last shard is empty
          backward_of_tables(parameters, shard, shard == rank ? &reducer : nullptr);
          reducer.end_shard();
        }
        reducer.finish();
        if (reducer.is_shared()) reducer.share(parameters.gradients(), {0, parameters.gradients().size()});
        const std::vector<float> sum = parameters.gradients().to_vector<float>();
        for (size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == doctest::Approx(expected[i]).epsilon(1e-4));
      }
    }
    CHECK(parameters[0].row_gradients == nullptr);
  }
}

TEST_CASE("a rank without data still takes part, and all ranks end with the same bits") {
  Parameters parameters;
  add_parameters(parameters);
  const int last = ranks().size() - 1;
  GradientReducer reducer(ranks(), cpu_kernels(), parameters, {.bucket_mb = 0.02, .shards = ranks().size()});
  parameters.gradients().zero();
  if (ranks().rank() != last || last == 0) {
    backward(parameters, ranks().rank(), [&](Tape& tape) { tape.add_observer(reducer.begin_last_shard()); });
  }
  reducer.end_shard();
  reducer.finish();
  std::vector<float> sum = parameters.gradients().to_vector<float>();
  const std::vector<float> own = sum;
  ranks().broadcast(std::span<float>(sum), last);
  CHECK(std::memcmp(sum.data(), own.data(), sum.size() * sizeof(float)) == 0);
  CHECK(std::any_of(sum.begin(), sum.end(), [](float g) { return g != 0; }));
}

}  // namespace
}  // namespace gyre::test
