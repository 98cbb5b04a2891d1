// Arguments of the kernels: activations and dropout, attention, losses, optimizers, precisions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "gyre/core/enum_names.h"
#include "gyre/core/segments.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Precision of activations and of matrix products. tf32 (GPUs only): activations are fp32, and matrix products round
// their operands to tf32. int8 (CPUs only, not for training): activations are fp32, and products with packed weights
// round their operands to int8 (Kernels::packed_linear).
enum class Precision : uint8_t { fp32, tf32, bf16, int8 };
template <>
inline constexpr std::pair<Precision, std::string_view> kEnumNames<Precision>[] = {
    {Precision::fp32, "fp32"}, {Precision::tf32, "tf32"}, {Precision::bf16, "bf16"}, {Precision::int8, "int8"}};

// ---- Elementwise kernels: activations and dropout ------------------------------------------------------------------

// gelu is the exact form x * Phi(x), with erf; gelu_tanh is its approximation in GPT-2 (Hendrycks & Gimpel 2016, 2):
//   x / 2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
// silu: x / (1 + exp(-x)). The last three are positive feature maps of linear attention:
//   elu_plus_one: x + 1 for x > 0, else exp(x)    relu_plus: max(x, 0) + 0.001    bounded_exp: exp(min(x, 60))
enum class Activation : uint8_t { relu, gelu, tanh, silu, gelu_tanh, elu_plus_one, relu_plus, bounded_exp };
constexpr std::string_view to_string(Activation kind) {
  switch (kind) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::tanh:
      return "tanh";
    case Activation::silu:
      return "silu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::elu_plus_one:
      return "elu_plus_one";
    case Activation::relu_plus:
      return "relu_plus";
    case Activation::bounded_exp:
      return "bounded_exp";
  }
  return "";
}
constexpr double kGeluTanhCubic = 0.044715;
constexpr double kReluPlusOffset = 1e-3;  // the constant of performer-pytorch
constexpr double kMaxExponent = 60;       // keeps sums of exponentials finite in fp32
constexpr double kFavorEpsilon = 1e-4;    // added to the exponentials of FAVOR+

// A function of one element: x, a x + b, exp(x), .., x^a, or x rounded to bf16.
enum class UnaryFunction : uint8_t { identity, affine, exp, log, sin, cos, erf, relu, sigmoid, power, round_to_bf16 };
struct ElementFunction {
  UnaryFunction kind = UnaryFunction::identity;
  double a = 1, b = 0;
  constexpr bool is_multiple() const { return kind == UnaryFunction::affine && b == 0; }
};
// A function of two elements.
enum class PairFunction : uint8_t { add, subtract, multiply, divide, maximum };

// Counter-based dropout mask: element i is kept if random_u32(seed, stream, i) >= dropout_threshold(rate). Kept
// elements are divided by 1 - rate.
struct DropoutMask {
  double rate = 0;
  uint64_t seed = 0, stream = 0;
};
// rate * 2^32, rounded down.
constexpr uint32_t dropout_threshold(double rate) { return uint32_t(rate * 4294967296.0); }

// ---- Attention kernels: shape and mask, rotary position embedding, relative position terms -------------------------

// Pairing of the features of a head in rotary position embedding.
enum class RotaryPairs : uint8_t { interleaved, half_split };  // (2i, 2i+1), or (i, i + dims/2)

// Parameters of rotary position embedding (RoPE).
struct RopeShape {
  int heads = 1;
  int dims = 0;  // rotated features per head: even, at most the head width; the other features are not rotated
  RotaryPairs pairs = RotaryPairs::interleaved;
  double magnitude = 1;       // YaRN's scale factor of the rotated features
  double position_scale = 1;  // position interpolation: position i is rotated by the angle of i * position_scale

  constexpr bool interleaved() const { return pairs == RotaryPairs::interleaved; }
  constexpr int64_t first_of_pair(int64_t i) const { return interleaved() ? 2 * i : i; }
  // The other feature of a feature's pair.
  template <class I>
  constexpr I partner(I feature) const {
    if (interleaved()) return feature ^ 1;
    return feature < dims / 2 ? feature + dims / 2 : feature - dims / 2;
  }
};

// One projection inside a wider tensor, such as Q in fused [Q | K | V]: columns [first, first + heads * width) of each
// row.
struct HeadColumns {
  Tensor rows;
  int64_t first = 0;
};

// Mask, scale and dropout of attention. In a segment, query i has position i + (keys - queries) and key j has position
// j. Their relative distance is t = (position of the key) - (position of the query), negative for earlier keys.
struct AttentionShape {
  static constexpr int64_t kUnlimited = int64_t{1} << 40;

  int heads = 1;                // heads of the queries
  int kv_heads = 0;             // heads of keys and values: a divisor of `heads`; 0: as many as `heads`
  double scale = 1;             // factor of the scores, 1/sqrt(head width); positive
  bool causal = false;          // only keys with t <= 0 are visible
  int64_t window = kUnlimited;  // only keys with |t| <= window are visible
  // Dropout of the attention weights. The weight of (head, query in its segment, key row) is element
  // (head * key rows + key row) * (longest query segment, rounded up to 16) + query.
  DropoutMask dropout;

  // Grouped-query attention (Ainslie et al. 2023): each group of consecutive heads shares one head of keys and values.
  int key_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  int group() const { return heads / key_heads(); }
};

// Relative-position terms of attention. All fields are optional and have the dtype of parameters. In a table of
// relative distances, row zero_offset + t belongs to distance t. A table has heads * width columns, or `width` columns
// shared by all heads. With pi the position of query i, pj that of key j, and t = pj - pi:
//   s_ij = scale (q_i . k_j + q_i . query_table[t] + k_j . key_table[t] + pos_queries[pi] . pos_keys[pj]) + bias[t]
//   out_i = sum_j p_ij (v_j + value_table[t])
struct PositionTables {
  Tensor bias;                                 // (distances, heads)
  Tensor query_table, key_table, value_table;  // (distances, columns)
  Tensor pos_queries, pos_keys;                // (positions, heads * any width), indexed by position
  int64_t zero_offset = 0;                     // row of distance 0

  bool has_distances() const { return bias || query_table || key_table || value_table; }
  explicit operator bool() const { return has_distances() || pos_queries; }
};

// A call of attention, which the op hands to the kernels of a backend as a whole. q has heads * width columns, k and v
// have key_heads() * width (AttentionShape). The queries of segment i of `queries` attend to the keys of segment i of
// `keys`.
struct AttentionCall {
  HeadColumns q = {}, k = {}, v = {};
  Segments queries = {}, keys = {};
  AttentionShape shape = {};
  // Rotary position embedding of queries and keys, applied before their dot product. Without angles, nothing is
  // rotated.
  RopeShape rope = {};
  Tensor angles = {};                               // result of Kernels::rotary_angles
  Tensor query_positions = {}, key_positions = {};  // i32, one per row: the row of `angles` to rotate by
  PositionTables terms = {};

  int64_t longest() const { return std::max(queries.longest(), keys.longest()); }
};

// The gradients of a call of attention. Those that are undefined are not computed.
struct AttentionGradients {
  HeadColumns q = {}, k = {}, v = {};  // those of k and v are sums over the heads of a group
  PositionTables terms = {};
  Tensor frequencies = {};  // (dims/2), accumulates as in Kernels::rope_frequencies_backward()
};

// Range of a scan over a segment: each row sums over itself and the rows before it, itself and the rows after it, or
// all rows.
enum class ScanDirection : uint8_t { before, after, all };
constexpr ScanDirection reversed(ScanDirection d) {
  if (d == ScanDirection::all) return d;
  return d == ScanDirection::before ? ScanDirection::after : ScanDirection::before;
}

// ---- Loss kernels --------------------------------------------------------------------------------------------------

// Terms of the cross-entropy of a row beside -log p[target].
struct CrossEntropyOptions {
  double smoothing = 0;  // label smoothing: the share of the uniform distribution over the classes
  double z_loss = 0;     // factor of lse^2, which keeps the logits near a normalized distribution (PaLM: 1e-4)
};

// Sums of a loss over the rows of a batch. Cross-entropy ignores rows with target < 0. Squared error sets nll = loss
// and correct = 0.
struct CrossEntropySums {
  double loss = 0;      // cross-entropy with label smoothing and z-loss
  double nll = 0;       // cross-entropy without them
  int64_t tokens = 0;   // rows that are not ignored
  int64_t correct = 0;  // rows in which the target has the largest logit
};

// The sums of a loss, f64 (4), on the CPU. If a score is NaN, a composed loss has NaN instead of the number of correct
// rows, which is read as 0.
inline CrossEntropySums sums_from(const Tensor& totals) {
  const auto* s = totals.data<double>();
  return {s[0], s[1], int64_t(s[2]), std::isnan(s[3]) ? 0 : int64_t(s[3])};
}

// ---- Optimizer kernels ---------------------------------------------------------------------------------------------

constexpr int64_t kSquaresBlock = 4096;  // elements per sum of Kernels::block_square_sums
// The number of sums that Kernels::block_square_sums writes for n elements.
constexpr int64_t squares_blocks(int64_t n) { return (n + kSquaresBlock - 1) / kSquaresBlock; }

// Limits for the norm of a gradient. The gradient is divided by `normalizer` first.
struct GradientLimits {
  double normalizer = 1;
  double clip_norm = 0;  // larger gradients are scaled down to this norm; 0: no clipping
  double largest = 0;    // the update is rejected if the norm after clipping is larger
};
// The elements of the result of Kernels::judge_gradient, f64.
enum Verdict : uint8_t {
  kGradientNorm,    // norm of the gradient divided by the normalizer, before clipping
  kGradientFactor,  // factor of the gradient: the clipping factor divided by the normalizer
  kAccepted,        // 1, or 0 if the norm is not finite or too large: the update must be skipped
  kVerdictSize,
};

// The ranges of the parameter arenas that one pass of the optimizer updates. Positions are counted in units of
// kUpdateUnit elements. The last unit of a range may extend into a gap between parameters, which is zero in all arenas
// and stays zero.
constexpr int64_t kUpdateUnit = 16;
struct UpdateRanges {
  enum Column : uint8_t {
    kFirst,     // number of units in the ranges before this one
    kBegin,     // first unit in the arena of values
    kGradient,  // first unit in the buffer of gradients
    kState,     // first unit in the arenas of the rule's state
    kGroup,     // row of `groups`
    kColumns,
  };
  enum GroupColumn : uint8_t {
    kRateFactor,   // factor of the learning rate
    kWeightDecay,  // decoupled (AdamW): value -= learning_rate * factor * weight_decay * value
    kGroupColumns,
  };
  Tensor table;   // (ranges, kColumns), i32, on the CPU
  Tensor groups;  // (groups, kGroupColumns), f64, on the device of the kernels
  int64_t units = 0;
};

// Hyperparameters of one Adam step.
struct AdamStep {
  double learning_rate, beta1, beta2, epsilon;
  double bias1, bias2;  // bias corrections: 1 - beta1^t, 1 - beta2^t
};

// Hyperparameters of one Lion step.
struct LionStep {
  double learning_rate, beta1, beta2;
};

// The coefficients of an iteration of Newton and Schulz: X is replaced by (a + b X X^T + c (X X^T)^2) X.
struct NewtonSchulzCoefficients {
  double a, b, c;
};

// Those of training. int8 is for trained models alone.
inline constexpr Precision kTrainingPrecisions[] = {Precision::fp32, Precision::tf32, Precision::bf16};

}  // namespace gyre
