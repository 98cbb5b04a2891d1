// Trains a network of two layers, written with the elementary ops, to tell the arms of a spiral apart.
//   mlp [UPDATES]
#include <gyre/autograd/elementary.h>
#include <gyre/core/random.h>
#include <gyre/train/optim/optimizer.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace gyre;

constexpr int64_t kArms = 3, kPoints = 300, kHidden = 64;  // points of all arms

// Point i lies on arm i % kArms, which turns by 0.7 of a circle from the center outward, with some noise.
Tensor spiral() {
  std::vector<float> points;
  for (int64_t i = 0; i < kPoints; ++i) {
    const double radius = double(i) / kPoints, noise = 0.2 * random_normal(/*seed=*/1, /*stream=*/0, uint64_t(i));
    const double angle = 6.28 * (double(i % kArms) / kArms + 0.7 * radius) + noise;
    points.insert(points.end(), {float(radius * std::cos(angle)), float(radius * std::sin(angle))});
  }
  return Tensor::from({kPoints, 2}, points);
}

// (n,kArms): 1 for the arm of each point, 0 for the others.
Tensor one_hot() {
  std::vector<float> choices;
  for (int64_t i = 0; i < kPoints * kArms; ++i) choices.push_back(i % kArms == i / kArms % kArms ? 1 : 0);
  return Tensor::from({kPoints, kArms}, choices);
}

// The share of the rows whose largest logit is that of their arm.
double accuracy(const Tensor& logits) {
  const std::vector<float> values = logits.to_vector<float>();
  int64_t right = 0;
  for (auto row = values.begin(); row != values.end(); row += kArms)
    right += std::max_element(row, row + kArms) - row == (row - values.begin()) / kArms % kArms;
  return double(right) / kPoints;
}

int main(int argc, char** argv) {
  const int updates = argc > 1 ? std::atoi(argv[1]) : 500;
  Parameters weights;
  Parameter& w1 = weights.add("w1", {2, kHidden}, Init::normal(1));
  Parameter& b1 = weights.add("b1", {1, kHidden}, Init::constant(0));
  Parameter& w2 = weights.add("w2", {kHidden, kArms}, Init::xavier(kHidden, kArms));
  Parameter& b2 = weights.add("b2", {1, kArms}, Init::constant(0));
  weights.allocate(/*seed=*/1);
  OptimizerOptions options;
  options.schedule.kind = "constant", options.schedule.learning_rate = 0.02, options.schedule.warmup = 10;
  Optimizer adam(weights, cpu_kernels(), options);
  const Tensor points = spiral(), arms = one_hot();

  const auto start = std::chrono::steady_clock::now();
  for (int update = 1; update <= updates; ++update) {
    Tape tape(cpu_kernels(), {.training = true});
    const Var hidden = tanh(matmul(tape.constant(points), tape.parameter(w1)) + tape.parameter(b1));
    const Var logits = matmul(hidden, tape.parameter(w2)) + tape.parameter(b2);
    const Var loss = -sum(log_softmax(logits) * tape.constant(arms));  // the cross-entropy of all points
    const double mean = loss.value().to_vector<float>()[0] / kPoints, right = accuracy(logits.value());
    tape.backward(loss);
    adam.update(kPoints);
    if (update == 1 || update % 100 == 0) std::printf("update %4d  loss %.4f  accuracy %.3f\n", update, mean, right);
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  std::printf("%.1f microseconds per update\n", time.count() / updates);
}
