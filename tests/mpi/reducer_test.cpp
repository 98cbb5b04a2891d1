#include "gyre/train/parallel/reducer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "gyre/autograd/ops.h"
#include "gyre/core/random.h"
#include "gyre/train/parallel/tree_reduction.h"
#include "tests/mpi/ranks.h"

namespace gyre::test {
namespace {

// Layers of different widths, some of odd size, so that buckets end at irregular offsets.
constexpr std::array<int64_t, 6> kWidths{24, 7, 130, 65, 190, 3};

void add_parameters(Parameters& parameters) {
  for (size_t i = 1; i < kWidths.size(); ++i) {
    const std::string layer = "layer." + std::to_string(i);
    parameters.add(layer + ".weight", {kWidths[i], kWidths[i - 1]}, Init::normal(0.2));
    parameters.add(layer + ".bias", {kWidths[i]}, Init::constant(0.1), false);
  }
  parameters.add("norm.gamma", {kWidths.back()}, Init::constant(1));
  parameters.add("norm.beta", {kWidths.back()}, Init::constant(0.1));
  parameters.add("unused", {11}, Init::constant(1));
  parameters.allocate(3);
}

// Backward of a small network on the data of one micro-batch; adds to the gradients.
void backward(Parameters& parameters, int micro_batch, const std::function<void(Tape&)>& before_backward = {}) {
  Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 1});
  std::vector<float> numbers(size_t(5 * kWidths[0]));
  RandomStream random(17, uint64_t(micro_batch));
  for (float& x : numbers) x = float(random.normal());
  Var x = tape.constant(Tensor::from({5, kWidths[0]}, numbers));
  for (size_t i = 0; i + 1 < kWidths.size(); ++i) {
    x = linear(x, tape.parameter(parameters[2 * i]), tape.parameter(parameters[2 * i + 1]));
    if (i + 2 < kWidths.size()) x = gelu(x);
  }
  // The norm also sums the bias gradient of the last layer, before the weight's gradient is computed.
  const size_t gamma = 2 * (kWidths.size() - 1);
  const Var residual =
      tape.constant(Tensor::from({5, kWidths.back()}, std::vector<float>(5 * size_t(kWidths.back()), 1)));
  x = residual_layer_norm(residual, x, 0, tape.parameter(parameters[gamma]), tape.parameter(parameters[gamma + 1]));
  const Tensor targets = Tensor::from({5}, std::vector<int32_t>{0, 2, 1, 0, 2});
  const Var loss = cross_entropy(x, targets, {0.1}).loss;
  if (before_backward) before_backward(tape);
  tape.backward(loss);
}

// The gradient of each micro-batch, computed on this rank alone.
std::vector<std::vector<float>> all_micro_batch_gradients(Parameters& parameters, int micro_batches) {
  std::vector<std::vector<float>> gradients;
  for (int s = 0; s < micro_batches; ++s) {
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

TEST_CASE("the tree adds micro-batches in the same order for any number of ranks") {
  Parameters parameters;
  add_parameters(parameters);
  for (int micro_batches : {4, 5, 7, 8, 9, 13}) {
    CAPTURE(micro_batches);
    if (micro_batches < ranks().size()) continue;  // every rank needs at least one
    const auto expected = all_micro_batch_gradients(parameters, micro_batches);
    GradientReducer reducer(ranks(), cpu_kernels(), parameters,
                            {.bucket_mb = 0.02, .micro_batches = micro_batches, .deterministic = true});
    const MicroBatchRange own = micro_batches_of_rank(micro_batches, ranks().size(), ranks().rank());
    for (int update = 0; update < 2; ++update) {  // a reducer is reused for every update
      parameters.gradients().zero();
      for (int s = own.begin; s < own.end; ++s) {
        backward(parameters, s, [&](Tape& tape) {
          if (s + 1 == own.end) tape.add_observer(reducer.begin_last_micro_batch());
        });
        reducer.end_micro_batch();
      }
      reducer.finish();
      const std::vector<float> sum = parameters.gradients().to_vector<float>();
      for (size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == tree(expected, i, 0, micro_batches));
    }
  }
}

// Runs this rank's micro-batches through the reducer.
void reduce(GradientReducer& reducer, Parameters& parameters, int per_rank) {
  parameters.gradients().zero();
  for (int i = 0; i < per_rank; ++i) {
    backward(parameters, per_rank * ranks().rank() + i, [&](Tape& tape) {
      if (i + 1 == per_rank) tape.add_observer(reducer.begin_last_micro_batch());
    });
    reducer.end_micro_batch();
  }
  reducer.finish();
}

TEST_CASE("buckets sum all micro-batches of all ranks, for any bucket size and communication dtype") {
  Parameters parameters;
  add_parameters(parameters);
  constexpr int kPerRank = 2;
  const int micro_batches = kPerRank * ranks().size();
  const auto single = all_micro_batch_gradients(parameters, micro_batches);
  for (const DType comm_dtype : {DType::f32, DType::bf16}) {
    for (double bucket_mb : {0.0, 0.02, 0.05, 100.0}) {
      CAPTURE(bucket_mb);
      GradientReducer reducer(ranks(), cpu_kernels(), parameters,
                              {.bucket_mb = bucket_mb, .micro_batches = micro_batches, .comm_dtype = comm_dtype});
      const bool exact = comm_dtype == DType::f32 || ranks().size() == 1;
      for (int update = 0; update < 2; ++update) {
        reduce(reducer, parameters, kPerRank);
        const std::vector<float> sum = parameters.gradients().to_vector<float>();
        for (size_t i = 0; i < sum.size(); ++i) {
          double expected = 0, size = 0;
          for (const auto& gradient : single) expected += double(gradient[i]), size += std::abs(double(gradient[i]));
          // bf16 rounds each rank's part and the sum, with a relative error of 2^-8.
          REQUIRE(std::abs(double(sum[i]) - expected) <= (exact ? 1e-5 * (1 + size) : size / 127));
        }
      }
    }
  }
}

TEST_CASE("sharded sums: each rank gets the sums of its own elements, and all_gather shares them") {
  Parameters parameters;
  add_parameters(parameters);
  const ReducerOptions options{.bucket_mb = 0.02, .micro_batches = ranks().size(), .deterministic = true};
  GradientReducer whole(ranks(), cpu_kernels(), parameters, options);
  reduce(whole, parameters, 1);
  const std::vector<float> expected = parameters.gradients().to_vector<float>();
  ReducerOptions sharded = options;
  sharded.sharded = true;
  GradientReducer reducer(ranks(), cpu_kernels(), parameters, sharded);
  CHECK(reducer.is_sharded() == (ranks().size() > 1));
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
  if (reducer.is_sharded()) reducer.all_gather(gradients, {0, gradients.size()});
  CHECK(gradients.to_vector<float>() == expected);
}

// Two tables around a layer; the first table is also the output layer. Every micro-batch looks up different rows, and
// one micro-batch is empty.
constexpr int64_t kRows = 701, kDim = 24;

void add_tables(Parameters& parameters) {
  parameters.add_table("tied", {kRows, kDim}, Init::normal(0.2));
  parameters.add("layer", {kDim, kDim}, Init::normal(0.2));
  parameters.add_table("source", {kRows / 2, kDim}, Init::normal(0.2));
  parameters.allocate(4);
}

void backward_of_tables(Parameters& parameters, int micro_batch, GradientReducer* reducer = nullptr) {
  if (micro_batch == 1) return;
  TapeObserver* const observer = reducer ? &reducer->begin_last_micro_batch() : nullptr;
  Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 1, .loss_seeded = true});
  const Tensor ids = Tensor::from({4}, std::vector<int32_t>{5, 17 * micro_batch, 5, int32_t(kRows) - 1 - micro_batch});
  const Var table = tape.parameter(parameters[0]);
  Var x = add(embedding(table, ids, 2), embedding(tape.parameter(parameters[2]),
                                                  Tensor::from({4}, std::vector<int32_t>{micro_batch, 3, 3, 349})));
  x = add(linear(x, tape.parameter(parameters[1])), embedding(table, ids));
  const Var loss = cross_entropy(linear(x, table), ids, {0.1}).loss;
  if (observer) tape.add_observer(*observer);
  tape.backward(loss);
}

TEST_CASE("tables: lookup gradients are reduced separately, and the sum is that of all micro-batches") {
  Parameters parameters;
  add_tables(parameters);
  const int rank = ranks().rank(), size = ranks().size();
  parameters.gradients().zero();
  for (int micro_batch = 0; micro_batch < 2 * size; ++micro_batch) backward_of_tables(parameters, micro_batch);
  const std::vector<float> expected = parameters.gradients().to_vector<float>();
  for (const bool sharded : {false, true}) {
    for (const double bucket_mb : {0.0, 0.05, 100.0}) {
      CAPTURE(sharded);
      CAPTURE(bucket_mb);
      GradientReducer reducer(ranks(), cpu_kernels(), parameters,
                              {.bucket_mb = bucket_mb, .micro_batches = 2 * size, .sharded = sharded});
      for (int update = 0; update < 2; ++update) {
        parameters.gradients().zero();
        for (const int micro_batch : {rank + size, rank}) {  // rank 1's last micro-batch is empty
          backward_of_tables(parameters, micro_batch, micro_batch == rank ? &reducer : nullptr);
          reducer.end_micro_batch();
        }
        reducer.finish();
        if (reducer.is_sharded()) reducer.all_gather(parameters.gradients(), {0, parameters.gradients().size()});
        const std::vector<float> sum = parameters.gradients().to_vector<float>();
        for (size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == doctest::Approx(expected[i]).epsilon(1e-4));
      }
    }
    CHECK(parameters[0].sparse_gradients == nullptr);
  }
}

TEST_CASE("a rank without data still takes part, and all ranks end with the same bits") {
  Parameters parameters;
  add_parameters(parameters);
  const int last = ranks().size() - 1;
  GradientReducer reducer(ranks(), cpu_kernels(), parameters, {.bucket_mb = 0.02, .micro_batches = ranks().size()});
  parameters.gradients().zero();
  if (ranks().rank() != last || last == 0) {
    backward(parameters, ranks().rank(), [&](Tape& tape) { tape.add_observer(reducer.begin_last_micro_batch()); });
  }
  reducer.end_micro_batch();
  reducer.finish();
  std::vector<float> sum = parameters.gradients().to_vector<float>();
  const std::vector<float> own = sum;
  ranks().broadcast(std::span<float>(sum), last);
  CHECK(std::memcmp(sum.data(), own.data(), sum.size() * sizeof(float)) == 0);
  CHECK(std::any_of(sum.begin(), sum.end(), [](float g) { return g != 0; }));
}

}  // namespace
}  // namespace gyre::test
