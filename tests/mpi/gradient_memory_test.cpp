// The memory that a rank takes for gradients.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/core/memory.h"
#include "gyre/train/parallel/reducer.h"
#include "tests/mpi/ranks.h"

namespace gyre::test {
namespace {

// A deep stack of layers that are smaller than a bucket. Activations of one row take no memory to speak of.
constexpr int kLayers = 128;
constexpr int64_t kWidth = 200;
constexpr double kLayerBytes = 4 * kWidth * kWidth;
constexpr double kBucketMb = 0.25;

struct Stack {
  explicit Stack(const ReducerOptions& options)
      : reducer((add_layers(), ranks()), cpu_kernels(), parameters, options) {}

  void add_layers() {
    for (int i = 0; i < kLayers; ++i) parameters.add(std::to_string(i), {kWidth, kWidth}, Init::normal(0.1));
    parameters.allocate(1);
  }

  void step() {
    parameters.zero_gradients();
    TapeObserver* const observer = reducer.begin_micro_batch();
    Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 1});
    Var x = tape.constant(Tensor::from({1, kWidth}, std::vector<float>(size_t(kWidth), 1)));
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
  const double whole = kLayers * kLayerBytes, share = whole / ranks().size();
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
