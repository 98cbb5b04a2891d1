#include "train/reducer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "autograd/ops.h"
#include "core/random.h"
#include "tests/mpi/ranks.h"
#include "train/shard_tree.h"

namespace gyre::test {
namespace {

// Layers of different widths, some ending in odd sizes, so that buckets end at uneven places.
constexpr std::array<int64_t, 5> kWidths{24, 7, 130, 65, 3};

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
  for (int shards : {4, 5, 7, 8, 13}) {
    CAPTURE(shards);
    const auto expected = all_shards(parameters, shards);
    const auto reducer = make_tree_reducer(ranks(), cpu_kernels(), parameters, shards);
    const ShardRange own = shards_of_rank(shards, ranks().size(), ranks().rank());
    for (int update = 0; update < 2; ++update) {  // a reducer is used again and again
      parameters.gradients().zero();
      for (int s = own.begin; s < own.end; ++s) {
        backward(parameters, s);
        reducer->end_shard();
      }
      reducer->finish();
      const std::vector<float> sum = parameters.gradients().to_vector<float>();
      for (size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == tree(expected, i, 0, shards));
    }
  }
}

TEST_CASE("buckets sum all shards of all ranks, for any bucket size") {
  Parameters parameters;
  add_parameters(parameters);
  constexpr int kPerRank = 2;
  const int shards = kPerRank * ranks().size();
  const auto single = all_shards(parameters, shards);
  for (double bucket_mb : {0.0, 0.005, 0.03, 100.0}) {
    CAPTURE(bucket_mb);
    const auto reducer = make_bucket_reducer(ranks(), parameters, bucket_mb);
    for (int update = 0; update < 2; ++update) {
      parameters.gradients().zero();
      for (int i = 0; i < kPerRank; ++i) {
        backward(parameters, kPerRank * ranks().rank() + i, [&](Tape& tape) {
          if (i + 1 == kPerRank) reducer->watch(tape);
        });
        reducer->end_shard();
      }
      reducer->finish();
      const std::vector<float> sum = parameters.gradients().to_vector<float>();
      for (size_t i = 0; i < sum.size(); ++i) {
        double expected = 0;
        for (const auto& gradient : single) expected += double(gradient[i]);
        REQUIRE(double(sum[i]) == doctest::Approx(expected).epsilon(1e-5).scale(1));
      }
    }
  }
}

TEST_CASE("a rank without data still takes part, and all ranks end with the same bits") {
  Parameters parameters;
  add_parameters(parameters);
  const int last = ranks().size() - 1;
  const auto reducer = make_bucket_reducer(ranks(), parameters, 0.01);
  parameters.gradients().zero();
  if (ranks().rank() != last || last == 0) {
    backward(parameters, ranks().rank(), [&](Tape& tape) { reducer->watch(tape); });
  }
  reducer->end_shard();
  reducer->finish();
  std::vector<float> sum = parameters.gradients().to_vector<float>();
  const std::vector<float> own = sum;
  ranks().broadcast(std::span<float>(sum), last);
  CHECK(std::memcmp(sum.data(), own.data(), sum.size() * sizeof(float)) == 0);
  CHECK(std::any_of(sum.begin(), sum.end(), [](float g) { return g != 0; }));
}

}  // namespace
}  // namespace gyre::test
