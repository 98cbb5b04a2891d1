// Kernels: the backend seam. One method per fused forward or backward; every argument's shape stands in its comment.
//
// Rules that hold for all of them:
// - Outputs first, then inputs, then constants.
// - n rows of tokens, d the width. Shapes are in row-major order.
// - Gradients of data (dx, dq, ..) are overwritten. Gradients of parameters (dw, dbias, dgamma, ..) accumulate.
// - An undefined gradient Tensor means "not wanted"; an undefined optional input means "none".
// - Data (x, y, q, dout, ..) is f32, bf16, or f64 for gradient checks. Parameters, their gradients and saved statistics
//   (mean, lse, ..) are f32 beside bf16 data and share the data's dtype otherwise.
// - Tensors lie on the device of the kernels; but ids, targets, positions and paths are on the CPU, i32 where nothing
//   else is said, and, like Segments, never change after their first use: a GPU's kernels keep their copies of them.
// - bf16 is storage: sums, softmax and statistics are computed in fp32.
// - Results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/segments.h"
#include "core/tensor.h"

namespace gyre {

// Of activations and of the operands of products. tf32: activations stay fp32, products round their operands (GPUs).
enum class Precision : uint8_t { fp32, tf32, bf16 };

// The type of parameters and of saved statistics beside data of this type.
inline DType statistics_dtype(DType data) { return data == DType::bf16 ? DType::f32 : data; }

// gelu: x * Phi(x), with erf. The last three map what attends to positive features (linear attention):
//   elu_plus_one: x + 1 for x > 0, else exp(x)    relu_plus: max(x, 0) + 0.001    bounded_exp: exp(min(x, 60))
enum class Activation : uint8_t { relu, gelu, tanh, elu_plus_one, relu_plus, bounded_exp };
constexpr std::string_view activation_name(Activation kind) {
  constexpr std::string_view names[] = {"relu", "gelu", "tanh", "elu_plus_one", "relu_plus", "bounded_exp"};
  return names[size_t(kind)];
}
constexpr double kReluPlus = 1e-3;       // performer-pytorch's
constexpr double kLargestExponent = 60;  // sums of exponentials stay finite in fp32
constexpr double kFavorEpsilon = 1e-4;   // added to the exponentials of FAVOR+

// Which elements dropout drops: element i is kept when random_u32(seed, stream, i) >= rate * 2^32. Kept ones are
// divided by 1 - rate.
struct DropoutMask {
  double rate = 0;
  uint64_t seed = 0, stream = 0;
};

// How rotary position embedding pairs the features of a head.
enum class RotaryPairs : uint8_t { interleaved, half_split };  // (2i, 2i+1), or (i, i + dims/2)

struct Rotary {
  int heads = 1;
  int dims = 0;  // rotated features per head, even, at most the head's width; the rest passes through
  RotaryPairs pairs = RotaryPairs::interleaved;
  double magnitude = 1;  // YaRN's factor on the rotated features
  double step = 1;       // position i stands at i * step
};

// One of several projections that lie side by side: features [first, first + heads * width) of each row.
struct HeadColumns {
  Tensor rows;
  int64_t first = 0;
};

// Queries and keys turned before their product; without angles they stay as they are.
struct AttentionRotation {
  Rotary rotary;
  Tensor angles;                          // of Kernels::rotary_angles
  Tensor query_positions, key_positions;  // i32, of each row: a row of the angles
};

// Query i of a segment stands at place i + (keys - queries) among its keys, key j at place j; their distance is
// t = j - the query's place, negative for what came before.
struct AttentionShape {
  static constexpr int64_t kFar = int64_t{1} << 40;

  int heads = 1;
  double scale = 1;      // on the scores, 1/sqrt(head width); positive
  bool causal = false;   // keys with t <= 0 are seen
  int64_t reach = kFar;  // of these, keys with |t| <= reach
  DropoutMask dropout;   // on the attention weights: weight (head, query of its segment, key row) is element
                         // (head * key rows + key row) * (longest segment of queries, rounded up to 16) + query
};

// What order adds to attention, as data; all of it optional, in the type of parameters. Row zero + t of a table of
// distances is that of distance t. Tables have heads * width columns, or `width`, the same for all heads.
//   s_ij = scale (q_i . k_j + q_i . query_table[t] + k_j . key_table[t] + query_places[i] . key_places[j]) + bias[t]
//   out_i = sum_j p_ij (v_j + value_table[t])
struct AttentionTerms {
  Tensor bias;                                 // (distances, heads)
  Tensor query_table, key_table, value_table;  // (distances, columns)
  Tensor query_places, key_places;             // (places, heads * any width)
  int64_t zero = 0;

  bool has_distances() const { return bias || query_table || key_table || value_table; }
  explicit operator bool() const { return has_distances() || query_places; }
};

// Which rows of its segment a row sums over: itself and those before it, itself and those after it, or all.
enum class SumDirection : uint8_t { before, after, all };
constexpr SumDirection reversed(SumDirection d) {
  if (d == SumDirection::all) return d;
  return d == SumDirection::before ? SumDirection::after : SumDirection::before;
}

// Sums over the rows of a loss; cross-entropy ignores rows with target < 0.
struct CrossEntropySums {
  double loss = 0;  // with label smoothing
  double nll = 0;   // without; of a squared error the same as the loss
  int64_t tokens = 0;
  int64_t correct = 0;  // rows whose largest logit is the target; of a squared error 0
};

constexpr int64_t kSquaresBlock = 4096;  // elements of which Kernels::block_squares makes one sum
constexpr int64_t squares_blocks(int64_t n) { return (n + kSquaresBlock - 1) / kSquaresBlock; }  // of n elements

struct AdamStep {
  double learning_rate, beta1, beta2, epsilon;
  double weight_decay = 0;    // decoupled (AdamW): value -= learning_rate * weight_decay * value
  double bias1, bias2;        // 1 - beta1^t, 1 - beta2^t
  double gradient_scale = 1;  // divides by the token count and clips, in the same pass
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual std::string name() const = 0;
  virtual Device device() const = 0;
  virtual bool has_bf16() const = 0;  // false: bf16 data throws
  // Whether products of f32 data may round their operands to tf32 from here on: a tape sets it.
  virtual void set_tf32(bool allowed) = 0;

  // y(n,o) = x(n,d) w(o,d)^T + bias(o); beside bf16 x, y may be f32 (logits), and so may dy below.
  virtual void linear(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias) = 0;
  // dx(n,d) = dy w;  dw(o,d) += dy^T x;  dbias(o) += sum_rows(dy)
  virtual void linear_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                               const Tensor& x, const Tensor& w) = 0;

  // y(n,o) = dropout(act(pre)), pre(n,o) = x(n,d) w(o,d)^T + bias(o). Backward needs `saved`: pre; but for relu y,
  // whose zeros are those of act and of dropout, and pre may be undefined.
  virtual void linear_activation(const Tensor& y, const Tensor& pre, const Tensor& x, const Tensor& w,
                                 const Tensor& bias, Activation kind, const DropoutMask& mask) = 0;
  virtual void linear_activation_backward(const Tensor& dx, const Tensor& dw, const Tensor& dbias, const Tensor& dy,
                                          const Tensor& x, const Tensor& w, const Tensor& saved, Activation kind,
                                          const DropoutMask& mask) = 0;

  // out = a + b; out may be a or b. All the same shape.
  virtual void add(const Tensor& out, const Tensor& a, const Tensor& b) = 0;
  // out = a * factor; out may be a
  virtual void scale(const Tensor& out, const Tensor& a, double factor) = 0;

  virtual void activation(const Tensor& y, const Tensor& x, Activation kind) = 0;
  virtual void activation_backward(const Tensor& dx, const Tensor& dy, const Tensor& x, Activation kind) = 0;

  // y = residual + dropout(x); residual may be undefined. The backward of dropout is dropout itself.
  virtual void dropout(const Tensor& y, const Tensor& x, const Tensor& residual, const DropoutMask& mask) = 0;

  // y(n,d) = gamma * xhat + beta, xhat = (x - mean) * rstd;  mean(n), rstd(n) are saved
  virtual void layer_norm(const Tensor& y, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& gamma,
                          const Tensor& beta, double epsilon) = 0;
  virtual void layer_norm_backward(const Tensor& dx, const Tensor& dgamma, const Tensor& dbeta, const Tensor& dy,
                                   const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd) = 0;

  // The same of sum(n,d) = residual + dropout(x), in one pass. `sum` is saved; where it is undefined it is not.
  virtual void residual_layer_norm(const Tensor& y, const Tensor& sum, const Tensor& mean, const Tensor& rstd,
                                   const Tensor& x, const Tensor& residual, const Tensor& gamma, const Tensor& beta,
                                   double epsilon, const DropoutMask& mask) = 0;
  virtual void residual_layer_norm_backward(const Tensor& dx, const Tensor& dresidual, const Tensor& dgamma,
                                            const Tensor& dbeta, const Tensor& dy, const Tensor& sum,
                                            const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                                            const DropoutMask& mask) = 0;

  // y(n,d) = table(v,d)[ids(n)] * factor; the table is a parameter
  virtual void embedding(const Tensor& y, const Tensor& table, const Tensor& ids, double factor) = 0;
  virtual void embedding_backward(const Tensor& dtable, const Tensor& dy, const Tensor& ids, double factor) = 0;

  // angles(n, 2 * dims), row p for position p: for each rotated feature the factor of itself, then that of its partner
  // in the pair. With t = p * step * frequencies(dims/2) of the pair and m the magnitude: (m cos t, -m sin t) for the
  // first of the pair, (m cos t, m sin t) for the second.
  virtual void rotary_angles(const Tensor& angles, const Tensor& frequencies, const Rotary& rotary) = 0;
  // y(n), x(n): heads * width columns, the pairs of each head turned by the angles of its row's position, i32 (n); y
  // may be x. `inverse` turns back (the transpose).
  virtual void rope(const HeadColumns& y, const HeadColumns& x, const Tensor& positions, const Tensor& angles,
                    const Rotary& rotary, int64_t width, bool inverse) = 0;
  // dfrequencies(dims/2) += sum over rows, heads of position * step * (dy2 * y1 - dy1 * y2)
  virtual void rope_frequencies_backward(const Tensor& dfrequencies, const Tensor& dy, const Tensor& y,
                                         const Tensor& positions, const Rotary& rotary) = 0;

  // out(nq, heads * width) = softmax(scale * q k^T) v per segment and head, q and k turned by the rotation, with what
  // the terms add; lse(heads, nq): log-sum-exp of the scores, saved where it is defined. q(nq); k, v(nk): heads * width
  // columns each. A query with no visible key gives zeros and lse = -infinity.
  virtual void attention(const Tensor& out, const Tensor& lse, const HeadColumns& q, const HeadColumns& k,
                         const HeadColumns& v, const Segments& queries, const Segments& keys,
                         const AttentionShape& shape, const AttentionRotation& rotation,
                         const AttentionTerms& terms) = 0;
  // dfrequencies(dims/2): as rope_frequencies_backward, of queries and keys. dterms: gradients of the terms,
  // overwritten.
  virtual void attention_backward(const HeadColumns& dq, const HeadColumns& dk, const HeadColumns& dv,
                                  const Tensor& dfrequencies, const AttentionTerms& dterms, const Tensor& dout,
                                  const HeadColumns& q, const HeadColumns& k, const HeadColumns& v, const Tensor& lse,
                                  const Segments& queries, const Segments& keys, const AttentionShape& shape,
                                  const AttentionRotation& rotation, const AttentionTerms& terms) = 0;

  // Decoding: steps[t](n_t, 3 * d), d = heads * width, are [query | key | value] of the tokens that the rows of step t
  // got. Each query of the last step's n rows attends to its own history, as far back as the shape reaches: token t of
  // row i is row path(i, t) of steps[t]; path i32 (n, steps); out(n, d).
  virtual void attention_over_steps(const Tensor& out, const std::vector<Tensor>& steps, const Tensor& path,
                                    const AttentionShape& shape, const AttentionTerms& terms) = 0;

  // y(n, heads) = factor * x(n, heads * width) . w(heads * width), head by head; w is a parameter
  virtual void head_dots(const Tensor& y, const Tensor& x, const Tensor& w, double factor) = 0;
  virtual void head_dots_backward(const Tensor& dx, const Tensor& dw, const Tensor& dy, const Tensor& x,
                                  const Tensor& w, double factor) = 0;

  // out_m(n, heads * width) = sum over rows n of the segment, in the direction, of (q_m . k_n) v_n, head by head; q,
  // k(n, heads * features), v(n, heads * width). An undefined one of q, k, v is ones: one feature a head. Each of the
  // four may be bf16 or f32 beside the others. Its gradients are of its own kind: dq = sums(dout, v, k) in the same
  // direction; dk = sums(v, dout, q) and dv = sums(k, q, dout) in the reversed one.
  virtual void linear_sums(const Tensor& out, const Tensor& q, const Tensor& k, const Tensor& v,
                           const Segments& segments, int heads, SumDirection direction) = 0;

  // y(n, heads * width) = softmax of x over the features of each head;  dx = y (dy - y . dy)
  virtual void head_softmax(const Tensor& y, const Tensor& x, int heads) = 0;
  virtual void head_softmax_backward(const Tensor& dx, const Tensor& dy, const Tensor& y, int heads) = 0;

  // FAVOR+ (Choromanski et al. 2021) from products p(n, heads * features), in the type of statistics, of random vectors
  // with x(n, heads * width), both times `factor`:
  //   y_i = features^-1/2 (exp(min(factor p_i - shift, 60)) + 1e-4),  shift = factor^2 |x|^2 / 2
  // x may be undefined: shift is then the largest of the row's factor p_i, which a quotient of sums forgets.
  virtual void favor_features(const Tensor& y, const Tensor& p, const Tensor& x, int heads, double factor) = 0;
  // dx is undefined where x is. dx lacks what goes through p.
  virtual void favor_features_backward(const Tensor& dp, const Tensor& dx, const Tensor& dy, const Tensor& p,
                                       const Tensor& x, int heads, double factor) = 0;

  // y(n, heads * width) = a(n, heads * width) / (b(n, heads) + epsilon), head by head; b is in the type of statistics
  virtual void head_quotients(const Tensor& y, const Tensor& a, const Tensor& b, double epsilon) = 0;
  virtual void head_quotients_backward(const Tensor& da, const Tensor& db, const Tensor& dy, const Tensor& a,
                                       const Tensor& b, double epsilon) = 0;

  // Label-smoothed cross-entropy, summed over the rows of logits(n,v) with targets(n) >= 0:
  //   (1 - smoothing) * -log p[target] + smoothing / v * sum_j -log p[j];   lse(n) is saved.
  // sums(4), f64, += {loss, nll, tokens, correct} of CrossEntropySums: read once, when all chunks have added to it.
  virtual void cross_entropy(const Tensor& sums, const Tensor& lse, const Tensor& logits, const Tensor& targets,
                             double smoothing) = 0;
  // dlogits = dloss * (softmax(logits) - q), q the smoothed target distribution. dlogits may be logits, and may be bf16
  // where logits are f32.
  virtual void cross_entropy_backward(const Tensor& dlogits, const Tensor& logits, const Tensor& targets,
                                      const Tensor& lse, double smoothing, double dloss) = 0;

  // (prediction - target)^2, summed over the rows of predictions(n) or (n,1); targets(n) are f32. sums as above.
  virtual void squared_error(const Tensor& sums, const Tensor& predictions, const Tensor& targets) = 0;
  // dpredictions = 2 * dloss * (predictions - targets)
  virtual void squared_error_backward(const Tensor& dpredictions, const Tensor& predictions, const Tensor& targets,
                                      double dloss) = 0;

  // out(n,v) = log_softmax(x); out may be x
  virtual void log_softmax(const Tensor& out, const Tensor& x) = 0;

  // What a search reads of x(n,v), f32: the k largest numbers of each row, largest first, of equal ones the lower
  // column first. values(n, k + 1), f32, of which the last is that of column `also`; columns(n,k), i32; both on the
  // CPU. NaN is never among them; where a row has fewer than k others the rest are -infinity and column -1.
  virtual void largest(const Tensor& values, const Tensor& columns, const Tensor& x, int64_t also) = 0;

  // Optimizer passes over flat buffers.
  // The sums of the squares of x's blocks of kSquaresBlock elements, in order; the last block may be shorter.
  virtual std::vector<double> block_squares(const Tensor& x) = 0;
  // One Adam step (Kingma & Ba 2015, alg. 1) on value, with moments m, v. The gradient is zeroed in the same pass.
  virtual void adam(const Tensor& value, const Tensor& m, const Tensor& v, const Tensor& gradient,
                    const AdamStep& step) = 0;
  // average += (1 - decay) * (value - average)
  virtual void moving_average(const Tensor& average, const Tensor& value, double decay) = 0;
};

// The CPU's kernels, for the best instruction set that this processor has, and all that it can run (slowest first).
Kernels& cpu_kernels();
std::vector<Kernels*> available_cpu_kernels();

// Tests turn this on: all CPU kernels then take bf16 data, on any CPU, and multiply it without AVX512-BF16, to the same
// bits and some hundred times slower. Not while kernels run.
void emulate_bf16(bool on);
bool emulates_bf16();

// cpu, cuda (the GPU of this number among the machine's ranks) or cuda:N; a UsageError for anything else.
Device parse_device(const std::string& name, int local_rank);
// The kernels of a device; a UsageError where it cannot be used.
Kernels& kernels_on(Device device);

// fp32, tf32, bf16, or auto: bf16 where the kernels have it. A UsageError for what they do not have.
std::vector<std::string> precision_names();
std::string precision_name(Precision precision);
Precision parse_precision(const std::string& name, const Kernels& kernels);

// Threads of the kernels (OpenMP); n >= 1.
void set_threads(int n);
int threads();

}  // namespace gyre
