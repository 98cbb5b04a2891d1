#include "gyre/train/parallel/reducer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/core/memory.h"
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

// Runs this rank's micro-batches through the reducer.
void reduce(GradientReducer& reducer, Parameters& parameters, MicroBatchRange own) {
  parameters.zero_gradients();
  if (const Tensor packed = reducer.packed_gradients()) packed.zero();
  for (int s = own.begin; s < own.end; ++s) {
    TapeObserver* const observer = reducer.begin_micro_batch();
    backward(parameters, s, [&](Tape& tape) {
      if (observer) tape.add_observer(*observer);
    });
    reducer.end_micro_batch();
  }
  reducer.finish();
}

MicroBatchRange own_micro_batches(int micro_batches) {
  return micro_batches_of_rank(micro_batches, ranks().size(), ranks().rank());
}

// The sums of all elements, gathered from the ranks that own them.
std::vector<float> all_sums(const GradientReducer& reducer, const Parameters& parameters) {
  const Tensor all = Tensor::zeros({parameters.values().size()}), packed = reducer.packed_gradients();
  int64_t at = 0;
  for (const ElementRange& own : reducer.owned()) {
    all.slice(own.begin, own.end)
        .copy_from(packed ? packed.slice(at, at + own.size()) : parameters.gradients().slice(own.begin, own.end));
    at += own.size();
  }
  if (reducer.is_sharded()) reducer.all_gather(all, {0, all.size()});
  return all.to_vector<float>();
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
    for (int update = 0; update < 2; ++update) {  // a reducer is reused for every update
      reduce(reducer, parameters, own_micro_batches(micro_batches));
      const std::vector<float> sum = parameters.gradients().to_vector<float>();
      for (size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == tree(expected, i, 0, micro_batches));
    }
  }
}

TEST_CASE("buckets sum all micro-batches of all ranks, for any bucket size, communication dtype and owner") {
  const int size = ranks().size();
  std::vector<ReducerOptions> cases;
  for (const DType comm_dtype : {DType::f32, DType::bf16}) {
    for (const double bucket_mb : {0.0, 0.02, 0.05, 100.0}) {
      cases.push_back({.bucket_mb = bucket_mb,
                       .micro_batches = 2 * size,
                       .comm_dtype = comm_dtype,
                       .shared_memory = bucket_mb != 0.05});
    }
  }
  // Owners add up the micro-batches, of which ranks have different numbers.
  cases.push_back({.bucket_mb = 0.02, .micro_batches = 2 * size + 1, .sharded = true, .shards_gradients = true});
  Parameters alone;
  add_parameters(alone);
  const auto single = all_micro_batch_gradients(alone, 2 * size + 1);
  for (const ReducerOptions& options : cases) {
    CAPTURE(options.bucket_mb);
    CAPTURE(options.sharded);
    Parameters parameters;
    add_parameters(parameters);
    GradientReducer reducer(ranks(), cpu_kernels(), parameters, options);
    const bool exact = options.comm_dtype == DType::f32 || size == 1;
    for (int update = 0; update < 2; ++update) {
      reduce(reducer, parameters, own_micro_batches(options.micro_batches));
      const std::vector<float> sum = all_sums(reducer, parameters);
      for (size_t i = 0; i < sum.size(); ++i) {
        double expected = 0, magnitude = 0;
        for (size_t s = 0; s < size_t(options.micro_batches); ++s)
          expected += double(single[s][i]), magnitude += std::abs(double(single[s][i]));
        // bf16 rounds each rank's part and the sum, with a relative error of 2^-8.
        REQUIRE(std::abs(double(sum[i]) - expected) <= (exact ? 1e-5 * (1 + magnitude) : magnitude / 127));
      }
    }
  }
}

TEST_CASE("sharded sums: each rank gets the sums of its own elements, and all_gather shares them") {
  Parameters parameters;
  add_parameters(parameters);
  ReducerOptions options{.bucket_mb = 0.02, .micro_batches = ranks().size(), .deterministic = true};
  GradientReducer whole(ranks(), cpu_kernels(), parameters, options);
  reduce(whole, parameters, own_micro_batches(options.micro_batches));
  const std::vector<float> expected = parameters.gradients().to_vector<float>();
  options.sharded = true;
  GradientReducer reducer(ranks(), cpu_kernels(), parameters, options);
  CHECK(reducer.is_sharded() == (ranks().size() > 1));
  reduce(reducer, parameters, own_micro_batches(options.micro_batches));
  CHECK(all_sums(reducer, parameters) == expected);
}

TEST_CASE("sharded gradients: the sums have the same bits as with sharded optimizer state only") {
  const int size = ranks().size();
  std::vector<ReducerOptions> cases;
  for (const int micro_batches : {size, 2 * size + 1, 13})
    cases.push_back({.bucket_mb = 0.02, .micro_batches = micro_batches, .deterministic = true});
  for (const DType comm_dtype : {DType::f32, DType::bf16})
    cases.push_back({.bucket_mb = 0.02, .micro_batches = size, .comm_dtype = comm_dtype});
  for (ReducerOptions options : cases) {
    CAPTURE(options.micro_batches);
    options.sharded = true;
    Parameters in_arena, packed;
    add_parameters(in_arena);
    add_parameters(packed);
    GradientReducer state_only(ranks(), cpu_kernels(), in_arena, options);
    options.shards_gradients = true;
    GradientReducer reducer(ranks(), cpu_kernels(), packed, options);
    CHECK(reducer.packed_gradients().defined() == (size > 1));
    for (int update = 0; update < 2; ++update) {
      reduce(state_only, in_arena, own_micro_batches(options.micro_batches));
      reduce(reducer, packed, own_micro_batches(options.micro_batches));
      CHECK(all_sums(reducer, packed) == all_sums(state_only, in_arena));
      if (size == 1) continue;
      CHECK_FALSE(packed.gradients().defined());
      for (const Parameter& p : packed) CHECK_FALSE(p.gradient.defined());
    }
  }
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
  TapeObserver* const observer = reducer ? reducer->begin_micro_batch() : nullptr;
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
  for (int micro_batch = 0; micro_batch < 2 * size; ++micro_batch) backward_of_tables(parameters, micro_batch);
  const std::vector<float> expected = parameters.gradients().to_vector<float>();
  for (const int zero : {0, 1, 2}) {
    for (const double bucket_mb : {0.0, 0.05, 100.0}) {
      CAPTURE(zero);
      CAPTURE(bucket_mb);
      Parameters own;
      add_tables(own);
      GradientReducer reducer(
          ranks(), cpu_kernels(), own,
          {.bucket_mb = bucket_mb, .micro_batches = 2 * size, .sharded = zero >= 1, .shards_gradients = zero == 2});
      for (int update = 0; update < 2; ++update) {
        own.zero_gradients();
        if (const Tensor packed = reducer.packed_gradients()) packed.zero();
        for (const int micro_batch : {rank + size, rank}) {  // rank 1's last micro-batch is empty
          backward_of_tables(own, micro_batch, &reducer);
          reducer.end_micro_batch();
        }
        reducer.finish();
        const std::vector<float> sum = all_sums(reducer, own);
        for (size_t i = 0; i < sum.size(); ++i) REQUIRE(sum[i] == doctest::Approx(expected[i]).epsilon(1e-4));
      }
      CHECK(own[0].sparse_gradients == nullptr);
    }
  }
}

TEST_CASE("a rank without data still takes part, and all ranks end with the same bits") {
  Parameters parameters;
  add_parameters(parameters);
  const int last = ranks().size() - 1;
  GradientReducer reducer(ranks(), cpu_kernels(), parameters, {.bucket_mb = 0.02, .micro_batches = ranks().size()});
  parameters.gradients().zero();
  if (ranks().rank() != last || last == 0) {
    backward(parameters, ranks().rank(), [&](Tape& tape) { tape.add_observer(*reducer.begin_micro_batch()); });
  }
  reducer.end_micro_batch();
  reducer.finish();
  std::vector<float> sum = parameters.gradients().to_vector<float>();
  const std::vector<float> own = sum;
  ranks().broadcast(std::span<float>(sum), last);
  CHECK(std::memcmp(sum.data(), own.data(), sum.size() * sizeof(float)) == 0);
  CHECK(std::any_of(sum.begin(), sum.end(), [](float g) { return g != 0; }));
}

// ---- The memory that a rank takes for gradients --------------------------------------------------------------------

// A deep stack of layers that are smaller than a bucket. Activations of one row take no memory to speak of.
constexpr int kStackLayers = 128;
constexpr int64_t kStackWidth = 200;
constexpr double kLayerBytes = 4 * kStackWidth * kStackWidth;
constexpr double kBucketMb = 0.25;

struct Stack {
  explicit Stack(const ReducerOptions& options)
      : reducer((add_layers(), ranks()), cpu_kernels(), parameters, options) {}

  void add_layers() {
    for (int i = 0; i < kStackLayers; ++i)
      parameters.add(std::to_string(i), {kStackWidth, kStackWidth}, Init::normal(0.1));
    parameters.allocate(1);
  }

  void step() {
    parameters.zero_gradients();
    TapeObserver* const observer = reducer.begin_micro_batch();
    Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 1});
    Var x = tape.constant(Tensor::from({1, kStackWidth}, std::vector<float>(size_t(kStackWidth), 1)));
    for (Parameter& p : parameters) x = linear(x, tape.parameter(p));
    const Var loss = cross_entropy(x, Tensor::from({1}, std::vector<int32_t>{3}), {0.1}).loss;
    tape.add_observer(*observer);
    tape.backward(loss);
    reducer.end_micro_batch();
    reducer.finish();
  }

  Parameters parameters;
  GradientReducer reducer;
};

// The most bytes of tensors that exist only during a step.
double peak_of_step(Stack& stack) {
  stack.step();
  // Raises the memory in use to its peak, so that the peak then shows what a step takes.
  const MemoryStats stats = memory_stats();
  const Tensor filler = Tensor::empty({int64_t(stats.peak_bytes - stats.active_bytes) / 4 + 1});
  const size_t before = memory_stats().peak_bytes;
  stack.step();
  return double(memory_stats().peak_bytes - before);
}

TEST_CASE("sharded gradients take the memory of a rank's share and of the buckets that are exchanged") {
  if (ranks().size() == 1) return;
  ReducerOptions options{.bucket_mb = kBucketMb, .micro_batches = ranks().size(), .sharded = true};
  const double whole = kStackLayers * kLayerBytes, share = whole / ranks().size();
  double others = 0;  // tensors other than gradients
  {
    Stack in_arena(options);
    CHECK(double(in_arena.parameters.gradients().bytes()) >= whole);
    others = peak_of_step(in_arena);
  }
  options.shards_gradients = true;
  Stack sharded(options);
  const auto kept = double(sharded.reducer.packed_gradients().bytes());
  CHECK(kept < 1.2 * share);  // slices consist of whole blocks
  const double most = kept + peak_of_step(sharded);
  CAPTURE(whole);
  CAPTURE(most);
  // Layers wait until the bucket is complete to which they belong.
  const double bucket = kBucketMb * (1 << 20), exchanged = GradientReducer::kMostInFlight * bucket;
  CHECK(most <= kept + exchanged + bucket + 2 * kLayerBytes + others);
  CHECK(most < (ranks().size() == 2 ? 0.7 : 0.55) * whole);
}

}  // namespace
}  // namespace gyre::test
