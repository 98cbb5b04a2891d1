// Differentiates f = x y + sin(x) with the tape of scalar_tape.h, and compares the gradients with the formulas.
#include <cmath>
#include <cstdio>
#include <vector>

#include "scalar_tape.h"

int main() {
  example::ScalarTape tape;
  const int x = tape.record(2), y = tape.record(3);
  const int output = tape.add(tape.multiply(x, y), tape.sine(x));
  const std::vector<double> gradient = tape.gradients(output);
  const double wanted[] = {3 + std::cos(2.0), 2};
  std::printf("f = %.6f, df/dx = %.6f (y + cos x = %.6f), df/dy = %.6f (x = %.6f)\n", tape.nodes[size_t(output)].value,
              gradient[size_t(x)], wanted[0], gradient[size_t(y)], wanted[1]);
  return std::abs(gradient[size_t(x)] - wanted[0]) + std::abs(gradient[size_t(y)] - wanted[1]) < 1e-12 ? 0 : 1;
}
