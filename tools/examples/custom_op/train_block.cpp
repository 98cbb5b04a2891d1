// Uses the ops in a layer and trains it: Llama's feed-forward block (Touvron et al. 2023) learns x0 x1 - x2 x3, which
// no linear model can represent.
//   train_block [UPDATES]
#include <gyre/autograd/gradcheck/gradcheck.h>
#include <gyre/models/modules/layers.h>
#include <gyre/train/optim/optimizer.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "rms_norm.h"
#include "swiglu.h"

using namespace gyre;

// y = x + down(swiglu(gate(n), up(n))),  n = rms_norm(x); gate and up share one matrix.
class GatedBlock {
 public:
  GatedBlock(Parameters& parameters, const std::string& name, int64_t dim, int64_t ffn)
      : gamma_(&parameters.add(name + ".norm.weight", {dim}, Init::constant(1), /*decay=*/false)),
        gate_up_(parameters, name + ".gate_up", dim, 2 * ffn, Init::xavier(dim, ffn)),
        down_(parameters, name + ".down", ffn, dim, Init::xavier(ffn, dim)),
        ffn_(ffn) {}

  Var operator()(const Var& x) const {
    const Var n = example::rms_norm(x, x.tape().parameter(*gamma_));
    return add(x, down_(example::swiglu(gate_up_.columns(n, 0, ffn_), gate_up_.columns(n, ffn_, ffn_))));
  }

 private:
  Parameter* gamma_;
  LinearLayer gate_up_, down_;
  int64_t ffn_;
};

// Maps (n,4) to (n,1).
class Network {
 public:
  explicit Network(uint64_t seed) { parameters_.allocate(seed); }
  Parameters& parameters() { return parameters_; }
  Var operator()(const Var& x) const { return out_(second_(first_(in_(x)))); }

 private:
  static constexpr int64_t kDim = 32, kFfn = 64;
  Parameters parameters_;
  LinearLayer in_{parameters_, "in", 4, kDim, Init::xavier(4, kDim)};
  GatedBlock first_{parameters_, "blocks.0", kDim, kFfn}, second_{parameters_, "blocks.1", kDim, kFfn};
  LinearLayer out_{parameters_, "out", kDim, 1, Init::xavier(kDim, 1)};
};

Tensor targets_of(const Tensor& x) {
  const auto numbers = matrix<float>(x);
  std::vector<float> targets;
  for (int64_t i = 0; i < numbers.rows(); ++i)
    targets.push_back(numbers(i, 0) * numbers(i, 1) - numbers(i, 2) * numbers(i, 3));
  return Tensor::from({numbers.rows()}, targets);
}

int main(int argc, char** argv) {
  const int updates = argc > 1 ? std::atoi(argv[1]) : 400;
  Network network(/*seed=*/1);
  OptimizerOptions options;
  options.schedule.learning_rate = 3e-3, options.schedule.warmup = 20, options.clip_norm = 1,
  options.schedule.kind = "constant";
  Optimizer optimizer(network.parameters(), cpu_kernels(), options);
  double error = 0, rows = 0;  // sums since the last printed line
  for (int update = 1; update <= updates; ++update) {
    const Tensor x = normal_tensor({64, 4}, DType::f32, /*seed=*/1, uint64_t(update));
    Tape tape(cpu_kernels(), {.training = true, .seed = uint64_t(update)});
    const LossResult result = squared_error(network(tape.constant(x)), targets_of(x));
    tape.backward(result.loss);
    optimizer.update(double(result.predictions));
    error += result.sums().loss, rows += double(result.predictions);
    if (update > 1 && update % 100 > 0) continue;
    std::printf("update %4d  squared error %.4f\n", update, error / rows);
    error = rows = 0;
  }
}
