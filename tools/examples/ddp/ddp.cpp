// Trains a model of its own, with a loop of its own, on one rank or several. The model learns the parity of the signs
// of three numbers. A second call with more updates continues from the newest checkpoint.
//   mpirun -n 2 ddp DIRECTORY UPDATES
#include <gyre/autograd/ops.h>
#include <gyre/core/hardware/cores.h>
#include <gyre/core/random.h>
#include <gyre/train/checkpoint/checkpoint.h>
#include <gyre/train/optim/optimizer.h>
#include <gyre/train/parallel/reducer.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>

using namespace gyre;

constexpr uint64_t kSeed = 1;
constexpr int64_t kBatch = 256, kInputs = 3, kWidth = 64;  // kBatch: rows of a global batch

// x(n,3) -> logits(n,2): two layers, and a norm between them.
class Model {
 public:
  // Every rank begins with the same weights, which are a pure function of the seed and their names.
  Model() { parameters_.allocate(kSeed); }
  Parameters& parameters() { return parameters_; }

  Var operator()(const Var& x) {
    Tape& tape = x.tape();
    const Var hidden = linear_activation(x, tape.parameter(w1_), tape.parameter(b1_), Activation::gelu);
    return linear(rms_norm(hidden, tape.parameter(gain_)), tape.parameter(w2_), tape.parameter(b2_));
  }

 private:
  Parameters parameters_;
  Parameter& w1_ = parameters_.add("w1", {kWidth, kInputs}, Init::normal(1));
  Parameter& b1_ = parameters_.add("b1", {kWidth}, Init::normal(1), /*decay=*/false);
  Parameter& gain_ = parameters_.add("gain", {kWidth}, Init::constant(1), /*decay=*/false);
  Parameter& w2_ = parameters_.add("w2", {2, kWidth}, Init::xavier(kWidth, 2));
  Parameter& b2_ = parameters_.add("b2", {2}, Init::constant(0), /*decay=*/false);
};

// This rank's rows of a global batch, which is the same for any number of ranks.
struct Batch {
  Tensor inputs, targets;
  Batch(uint64_t update, const Communicator& ranks) {
    std::vector<float> numbers;
    std::vector<int32_t> parities;
    const int64_t first = kBatch * ranks.rank() / ranks.size(), end = kBatch * (ranks.rank() + 1) / ranks.size();
    for (int64_t row = first; row < end; ++row) {
      int negative = 0;
      for (int64_t i = row * kInputs; i < (row + 1) * kInputs; ++i) {
        numbers.push_back(float(random_normal(kSeed, update, uint64_t(i))));
        negative += numbers.back() < 0;
      }
      parities.push_back(negative % 2);
    }
    inputs = Tensor::from({end - first, kInputs}, numbers), targets = Tensor::from({end - first}, parities);
  }
};

int train(Communicator& ranks, const Path& directory, uint64_t updates) {
  set_threads(choose_threads(0, ranks.cores()).threads);  // the ranks of a machine share its cores
  std::optional<RunDirectory> run;
  if (ranks.rank() == 0) run.emplace(directory);  // writes checkpoints, and locks the directory against a second job
  ranks.barrier();

  Model model;
  GradientReducer reducer(ranks, cpu_kernels(), model.parameters(), {.micro_batches = ranks.size()});
  OptimizerOptions options;
  options.schedule.kind = "constant", options.schedule.learning_rate = 3e-3, options.schedule.warmup = 20;
  Optimizer adam(model.parameters(), cpu_kernels(), options, &reducer);
  TrainState state;
  if (const auto found = find_resumable(directory))
    state = load_checkpoint(found->checkpoint, model.parameters(), adam);

  for (uint64_t& update = state.progress.updates; update < updates;) {
    const Batch batch(update, ranks);
    TapeObserver* observer = reducer.begin_micro_batch();
    const uint64_t masks = mix(update, uint64_t(ranks.rank()));  // the seed of dropout
    Tape tape(cpu_kernels(), {.training = true, .seed = masks});
    const LossResult result = cross_entropy(model(tape.constant(batch.inputs)), batch.targets);
    if (observer != nullptr) tape.add_observer(*observer);  // reduces a gradient during backward, once it is final
    tape.backward(result.loss);
    reducer.end_micro_batch();
    reducer.finish();  // the gradients are now the sums over all ranks

    const CrossEntropySums own = result.sums();
    std::array<double, 3> sums{own.loss, double(own.correct), double(own.tokens)};
    ranks.all_reduce(sums);
    adam.update(sums[2]);
    if (++update % 100 > 0 || ranks.rank() > 0) continue;
    std::printf("update %4d  loss %.6f  accuracy %.3f  ranks %d\n", int(update), sums[0] / sums[2], sums[1] / sums[2],
                ranks.size());
  }
  const CheckpointContent content = checkpoint_content(model.parameters(), adam, state);
  if (run) write_checkpoint(*run, content);
  return 0;
}

int main(int argc, char** argv) try {
  require(argc == 3, "usage: ddp DIRECTORY UPDATES");
  // Ends all ranks if one of them throws.
  return with_communicator(
      [&](Communicator& ranks) { return train(ranks, argv[1], std::strtoull(argv[2], nullptr, 10)); });
} catch (const std::exception& error) {
  std::fprintf(stderr, "ddp: %s\n", error.what());
  return 1;
}
