// Times the functions of llm.c's train_gpt2.c for the CPU, for tools/bench/peers/compare_llm_c.sh, which compiles this
// file with a checkout of llm.c as an include folder.
//   llm_c_ops RUNS
// Prints a line per op, with the names and shapes of `gyre bench ops --preset gpt2-small`: op, shape, milliseconds of
// forward and of backward, separated by tabs. The times are medians after a warm-up run. llm.c's own loop clears its
// gradients before each step, because backward adds to them; this time is not counted.
#define TESTING  // leaves main() out
#include "train_gpt2.c"

enum { B = 4, T = 64, N = B * T, C = 768, V = 50257, PADDED_V = 50304 };

// Inputs, outputs and their gradients have the rows of the logits, which are the longest; ops with fewer columns use
// the front.
static float *x, *dx, *y, *dy, *probs, *w, *dw, *b, *db, *mean, *rstd, *losses, *dlosses;
static int targets[N];

static void layer_norm_forward(void) { layernorm_forward(y, mean, rstd, x, w, b, B, T, C); }
static void layer_norm_backward(void) { layernorm_backward(dx, dw, db, dy, x, w, mean, rstd, B, T, C); }

static void gelu_tanh_forward(void) { gelu_forward(y, x, N * 4 * C); }
static void gelu_tanh_backward(void) { gelu_backward(dx, x, dy, N * 4 * C); }

static void cross_entropy_forward(void) {
  softmax_forward(probs, x, B, T, V, PADDED_V);
  crossentropy_forward(losses, probs, targets, B, T, PADDED_V);
}
static void cross_entropy_backward(void) {
  crossentropy_softmax_backward(dx, dlosses, probs, targets, B, T, V, PADDED_V);
}

static void linear_forward(void) { matmul_forward(y, x, w, b, B, T, C, 3 * C); }
static void linear_backward(void) { matmul_backward(dx, dw, db, dy, x, w, B, T, C, 3 * C); }

static void linear_cross_entropy_forward(void) {
  matmul_forward(y, x, w, NULL, B, T, C, PADDED_V);
  softmax_forward(probs, y, B, T, V, PADDED_V);
  crossentropy_forward(losses, probs, targets, B, T, PADDED_V);
}
static void linear_cross_entropy_backward(void) {
  crossentropy_softmax_backward(dy, dlosses, probs, targets, B, T, V, PADDED_V);
  matmul_backward(dx, dw, NULL, dy, x, w, B, T, C, PADDED_V);
}

static const struct {
  const char *op, *shape;
  void (*forward)(void), (*backward)(void);
} ops[] = {
    {"layer_norm", "256 x 768", layer_norm_forward, layer_norm_backward},
    {"gelu_tanh", "256 x 3072", gelu_tanh_forward, gelu_tanh_backward},
    {"cross_entropy", "256 x 50257", cross_entropy_forward, cross_entropy_backward},
    {"linear", "256 x 768 x 2304", linear_forward, linear_backward},
    {"linear_cross_entropy", "256 x 768 x 50257", linear_cross_entropy_forward, linear_cross_entropy_backward},
};

// Numbers with the deviation of those of `gyre bench ops`.
static float* random_numbers(size_t count, mt19937_state* random) {
  float* numbers = mallocCheck(count * sizeof(float));
  normal_(numbers, (unsigned)count, 0, 0.1f, random);
  return numbers;
}

static float* ones(size_t count) {
  float* numbers = mallocCheck(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) numbers[i] = 1;
  return numbers;
}

static double milliseconds_of(void (*run)(void)) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  run();
  clock_gettime(CLOCK_MONOTONIC, &end);
  return 1e3 * (double)(end.tv_sec - start.tv_sec) + 1e-6 * (double)(end.tv_nsec - start.tv_nsec);
}

static int compare(const void* a, const void* b) {
  const double left = *(const double*)a, right = *(const double*)b;
  return (left > right) - (left < right);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof(double), compare);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

int main(int argc, char** argv) {
  const int runs = argc > 1 ? atoi(argv[1]) : 10;
  double *forward = mallocCheck((size_t)runs * sizeof(double)), *backward = mallocCheck((size_t)runs * sizeof(double));
  const size_t logits = (size_t)N * PADDED_V, weights = (size_t)PADDED_V * C;
  mt19937_state random;
  manual_seed(&random, 1);
  x = random_numbers(logits, &random), dy = random_numbers(logits, &random), w = random_numbers(weights, &random);
  dx = ones(logits), y = ones(logits), probs = ones(logits), dw = ones(weights);
  b = ones(PADDED_V), db = ones(PADDED_V), mean = ones(N), rstd = ones(N), losses = ones(N), dlosses = ones(N);
  for (int i = 0; i < N; ++i) targets[i] = (int)(randint32(&random) % V);
  for (size_t op = 0; op < sizeof(ops) / sizeof(*ops); ++op) {
    ops[op].forward(), ops[op].backward();
    for (int run = 0; run < runs; ++run) {
      forward[run] = milliseconds_of(ops[op].forward);
      backward[run] = milliseconds_of(ops[op].backward);
    }
    printf("%s\t%s\t%.4f\t%.4f\n", ops[op].op, ops[op].shape, median(forward, runs), median(backward, runs));
  }
}
