// Trains a network of two layers on exclusive or, and prints its loss at every tenth update. The README shows these
// lines.
#include <gyre/autograd/ops.h>
#include <gyre/train/optim/optimizer.h>

#include <cstdio>

using namespace gyre;

int main() {
  const Tensor inputs = Tensor::from<float>({4, 3}, {0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1});  // a, b and 1 for the bias
  const Tensor targets = Tensor::from<int32_t>({4}, {0, 1, 1, 0});
  OptimizerOptions options;
  options.schedule.learning_rate = 0.1, options.schedule.warmup = 20;

  Parameters weights;
  Parameter& w1 = weights.add("w1", {16, 3}, Init::normal(1));
  Parameter& w2 = weights.add("w2", {2, 16}, Init::normal(1));
  weights.allocate(/*seed=*/1);
  Optimizer adam(weights, cpu_kernels(), options);
  for (int update = 0; update < 100; ++update) {
    Tape tape(cpu_kernels(), {.training = true});
    const Var hidden = relu(linear(tape.constant(inputs), tape.parameter(w1)));
    const LossResult result = cross_entropy(linear(hidden, tape.parameter(w2)), targets);
    tape.backward(result.loss);               // adds to the gradients of w1 and w2
    adam.update(double(result.predictions));  // the loss is a sum over the four rows
    if (update % 10 == 0) std::printf("update %2d  loss %.4f\n", update, result.sums().loss / 4);
  }
}
