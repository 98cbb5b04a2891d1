#include "autograd/op_cases.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/ops.h"
#include "core/random.h"

namespace gyre {
namespace {

using reference::Value;
using Vars = std::vector<Var>;
using Values = std::vector<Value>;
using Ints = std::vector<int32_t>;

struct Input {
  std::string name;
  Shape shape;
  double deviation = 1, mean = 0;
  bool parameter = false;
};

Input parameter(const std::string& name, const Shape& shape, double deviation = 1, double mean = 0) {
  return {name, shape, deviation, mean, true};
}

// Each number of an input is a pure function of the row's and the input's name.
Tensor make_input(const std::string& row, const Input& input) {
  Tensor t = normal_tensor(input.shape, DType::f64, hash_name(row), hash_name(input.name));
  for (double& x : t.span<double>()) x = input.mean + input.deviation * x;
  return t;
}

OpCase make_case(std::string name, const std::vector<Input>& inputs, TapeFunction op, OpCase::Reference reference) {
  OpCase row{std::move(name), {}, {}, std::move(op), std::move(reference)};
  for (const Input& input : inputs) {
    row.inputs.push_back({input.name, make_input(row.name, input)});
    row.parameters.push_back(input.parameter);
  }
  return row;
}

Tensor ids_tensor(const Ints& ids) { return Tensor::from<int32_t>({int64_t(ids.size())}, ids); }

// n numbers below `limit`, with repeats.
Ints random_ids(int64_t n, uint64_t limit) {
  RandomStream random(uint64_t(n), limit);
  Ints ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(int32_t(random.below(limit)));
  return ids;
}

// The first mask that a tape of these rows draws.
DropoutMask first_mask(double rate) { return Tape(cpu_kernels(), kOpCaseTape).next_dropout(rate); }

// ---- Rows over plain matrices -------------------------------------------------------------------------------------

OpCase linear_case(const std::string& variant, int64_t n, int64_t d, int64_t o, bool bias) {
  std::vector<Input> inputs{{"x", {n, d}}, parameter("w", {o, d})};
  if (bias) inputs.push_back(parameter("bias", {o}));
  return make_case(
      "linear/" + variant, inputs, [=](Tape&, const Vars& in) { return linear(in[0], in[1], bias ? in[2] : Var()); },
      [=](const Values& in) {
        return bias ? reference::linear(in[0], in[1], in[2]) : reference::linear(in[0], in[1]);
      });
}

OpCase linear_activation_case(const std::string& variant, int64_t n, int64_t d, int64_t o, Activation kind,
                              double rate) {
  OpCase row = make_case(
      std::string(kind == Activation::relu ? "linear_relu/" : "linear_gelu/") + variant,
      {{"x", {n, d}}, parameter("w", {o, d}, 1 / std::sqrt(double(d))), parameter("bias", {o})},
      [=](Tape&, const Vars& in) { return linear_activation(in[0], in[1], in[2], kind, rate); },
      [=](const Values& in) {
        const Value y = reference::activation(reference::linear(in[0], in[1], in[2]), kind);
        return rate > 0 ? reference::dropout(y, first_mask(rate)) : y;
      });
  // Around relu's kink a difference is no derivative. Of such numbers every sum is an odd multiple of 1/32.
  for (NamedTensor& input : row.inputs) {
    const bool bias = input.name == "bias";
    for (double& v : input.value.span<double>()) v = bias ? std::floor(16 * v) / 16 + 1.0 / 32 : std::round(4 * v) / 4;
  }
  return row;
}

void add_linear(std::vector<OpCase>& rows) {
  rows.push_back(linear_case("one-number", 1, 1, 1, true));
  rows.push_back(linear_case("one-row", 1, 33, 7, true));
  rows.push_back(linear_case("odd-sizes", 65, 17, 129, true));
  rows.push_back(linear_case("many-rows", 1100, 3, 5, true));
  rows.push_back(linear_case("no-bias", 7, 129, 2, false));
  rows.push_back(linear_case("no-rows", 0, 5, 3, true));
  rows.push_back(linear_case("deep", 3, 1500, 4, true));
  for (const Activation kind : {Activation::relu, Activation::gelu}) {
    rows.push_back(linear_activation_case("odd-sizes", 65, 17, 131, kind, 0));
    rows.push_back(linear_activation_case("dropout", 37, 5, 301, kind, 0.3));
    rows.push_back(linear_activation_case("one-number", 1, 1, 1, kind, 0));
    rows.push_back(linear_activation_case("no-rows", 0, 5, 3, kind, 0.1));
  }
  rows.push_back(make_case(
      "linear/by-itself", {{"x", {7, 5}}}, [](Tape&, const Vars& in) { return linear(in[0], in[0]); },
      [](const Values& in) { return reference::linear(in[0], in[0]); }));
}

void add_elementwise(std::vector<OpCase>& rows) {
  rows.push_back(make_case(
      "add", {{"a", {130, 129}}, {"b", {130, 129}}}, [](Tape&, const Vars& in) { return add(in[0], in[1]); },
      [](const Values& in) { return in[0] + in[1]; }));
  rows.push_back(make_case(
      "add/to-itself", {{"a", {3, 5}}}, [](Tape&, const Vars& in) { return add(in[0], in[0]); },
      [](const Values& in) { return in[0] + in[0]; }));
  // Every use of x but one hands its gradient on without a copy.
  rows.push_back(make_case(
      "add/fan-out", {{"x", {2, 7}}, {"y", {2, 7}}},
      [](Tape&, const Vars& in) { return add(add(in[0], in[1]), add(in[0], scale(in[0], -0.5))); },
      [](const Values& in) { return in[0] + in[1] + in[0] + reference::scale(in[0], -0.5); }));
  rows.push_back(make_case(
      "scale", {{"x", {1, 129}}}, [](Tape&, const Vars& in) { return scale(in[0], -1.75); },
      [](const Values& in) { return reference::scale(in[0], -1.75); }));
  for (const auto& [name, kind] : {std::pair("relu", Activation::relu), std::pair("gelu", Activation::gelu)}) {
    OpCase row = make_case(
        name, {{"x", {150, 129}, 2}}, [=](Tape&, const Vars& in) { return activation(in[0], kind); },
        [=](const Values& in) { return reference::activation(in[0], kind); });
    // Around relu's kink a difference is no derivative: step aside.
    for (double& x : row.inputs[0].value.span<double>()) x += std::copysign(1e-3, x);
    rows.push_back(std::move(row));
  }
}

void add_dropout(std::vector<OpCase>& rows) {
  for (const auto& [variant, shape, rate] :
       {std::tuple("small", Shape{3, 5}, 0.5), std::tuple("large", Shape{131, 129}, 0.1),
        std::tuple("none", Shape{2, 2}, 0.0)}) {
    const DropoutMask mask = first_mask(rate);
    rows.push_back(make_case(
        concat("dropout/", variant), {{"x", shape}},
        [rate = rate](Tape&, const Vars& in) { return dropout(in[0], rate); },
        [mask](const Values& in) { return reference::dropout(in[0], mask); }));
    rows.push_back(make_case(
        concat("residual_dropout/", variant), {{"residual", shape}, {"x", shape}},
        [rate = rate](Tape&, const Vars& in) { return residual_dropout(in[0], in[1], rate); },
        [mask](const Values& in) { return in[0] + reference::dropout(in[1], mask); }));
  }
  const DropoutMask mask = first_mask(0.3);
  rows.push_back(make_case(
      "residual_dropout/to-itself", {{"x", {7, 5}}},
      [](Tape&, const Vars& in) { return residual_dropout(in[0], in[0], 0.3); },
      [mask](const Values& in) { return in[0] + reference::dropout(in[0], mask); }));
}

void add_layer_norm(std::vector<OpCase>& rows) {
  for (const auto& [variant, n, d] : {std::tuple("one-feature", 3, 1), std::tuple("two-features", 5, 2),
                                      std::tuple("one-row", 1, 65), std::tuple("odd-sizes", 131, 129)}) {
    rows.push_back(make_case(
        concat("layer_norm/", variant),
        {{"x", {n, d}, 2, 0.5}, parameter("gamma", {d}, 0.5, 1), parameter("beta", {d})},
        [](Tape&, const Vars& in) { return layer_norm(in[0], in[1], in[2]); },
        [](const Values& in) { return reference::layer_norm(in[0], in[1], in[2], 1e-5); }));
  }
  rows.push_back(make_case(
      "layer_norm/epsilon", {{"x", {4, 7}, 0.1}, parameter("gamma", {7}), parameter("beta", {7})},
      [](Tape&, const Vars& in) { return layer_norm(in[0], in[1], in[2], 0.25); },
      [](const Values& in) { return reference::layer_norm(in[0], in[1], in[2], 0.25); }));
}

void add_residual_layer_norm(std::vector<OpCase>& rows) {
  const auto row = [&](const std::string& variant, int64_t n, int64_t d, double rate, double epsilon) {
    const DropoutMask mask = first_mask(rate);
    rows.push_back(make_case(
        "residual_layer_norm/" + variant,
        {{"residual", {n, d}}, {"x", {n, d}}, parameter("gamma", {d}, 0.5, 1), parameter("beta", {d})},
        [=](Tape&, const Vars& in) { return residual_layer_norm(in[0], in[1], rate, in[2], in[3], epsilon); },
        [=](const Values& in) {
          return reference::layer_norm(in[0] + reference::dropout(in[1], mask), in[2], in[3], epsilon);
        }));
  };
  row("one-feature", 3, 1, 0.5, 0.25);  // all gradients are zero but for rounding, which 1 / epsilon enlarges
  row("two-features", 5, 2, 0, 1e-5);
  row("few-features", 33, 7, 0.3, 1e-5);  // rows begin and end within a number's block of four
  row("odd-sizes", 65, 33, 0.1, 1e-5);
  row("no-dropout", 131, 129, 0, 1e-5);
  row("several-strips", 3, 579, 0.1, 1e-5);
  row("no-rows", 0, 5, 0.1, 1e-5);
  const DropoutMask mask = first_mask(0.3);
  rows.push_back(make_case(
      "residual_layer_norm/to-itself", {{"x", {7, 5}}, parameter("gamma", {5}), parameter("beta", {5})},
      [](Tape&, const Vars& in) { return residual_layer_norm(in[0], in[0], 0.3, in[1], in[2]); },
      [mask](const Values& in) {
        return reference::layer_norm(in[0] + reference::dropout(in[0], mask), in[1], in[2], 1e-5);
      }));
}

void add_embedding(std::vector<OpCase>& rows) {
  for (const auto& [variant, n, v, d] :
       {std::tuple("one-token", 1, 3, 5), std::tuple("repeats", 65, 7, 2), std::tuple("large", 300, 130, 129)}) {
    const Ints ids = random_ids(n, uint64_t(v));
    const double factor = std::sqrt(double(d));
    rows.push_back(make_case(
        concat("embedding/", variant), {parameter("table", {v, d})},
        [=](Tape&, const Vars& in) { return embedding(in[0], ids_tensor(ids), factor); },
        [=](const Values& in) { return reference::embedding(in[0], ids, factor); }));
  }
  const Ints ids{4, 0, 4, 2};
  rows.push_back(make_case(
      "embedding/tied", {parameter("table", {5, 7})},
      [=](Tape&, const Vars& in) { return linear(embedding(in[0], ids_tensor(ids), 2), in[0]); },
      [=](const Values& in) { return reference::linear(reference::embedding(in[0], ids, 2), in[0]); }));
  // The whole of y is used beside some of its rows.
  const Ints some{4, 0, 4, 2, 4};
  rows.push_back(make_case(
      "gather_rows", {{"x", {5, 7}}},
      [=](Tape&, const Vars& in) {
        const Var y = scale(in[0], 3);
        return add(y, gather_rows(y, ids_tensor(some)));
      },
      [=](const Values& in) {
        const Value y = reference::scale(in[0], 3);
        return y + reference::embedding(y, some, 1);
      }));
}

// ---- Rotary position embedding ------------------------------------------------------------------------------------

OpCase rope_case(const std::string& variant, const Rotary& rotary, int64_t width, const Ints& positions) {
  const int64_t n = int64_t(positions.size());
  return make_case(
      "rope/" + variant, {{"x", {n, rotary.heads * width}}, parameter("frequencies", {rotary.dims / 2}, 0.3, 0.5)},
      [=](Tape&, const Vars& in) {
        const int64_t angles = *std::max_element(positions.begin(), positions.end()) + 1;
        return rope(in[0], make_rotation(in[1], angles, rotary), ids_tensor(positions));
      },
      [=](const Values& in) { return reference::rope(in[0], in[1], positions, rotary); });
}

Ints counted(int32_t n) {
  Ints positions;
  for (int32_t i = 0; i < n; ++i) positions.push_back(i);
  return positions;
}

void add_rope(std::vector<OpCase>& rows) {
  using enum RotaryPairs;
  rows.push_back(rope_case("interleaved", {.heads = 2, .dims = 6, .pairs = interleaved}, 6, counted(7)));
  rows.push_back(rope_case("half-split", {.heads = 2, .dims = 6, .pairs = half_split}, 6, counted(7)));
  rows.push_back(rope_case("partial", {.heads = 3, .dims = 4, .pairs = interleaved}, 7, counted(5)));
  rows.push_back(rope_case("partial-half-split", {.heads = 3, .dims = 4, .pairs = half_split}, 7, counted(5)));
  // Several sentences in a batch, one of them a continuation.
  rows.push_back(rope_case("offsets", {.heads = 1, .dims = 4, .pairs = half_split}, 4, {0, 1, 2, 57, 58, 0, 1}));
  rows.push_back(rope_case("one-token", {.heads = 1, .dims = 2, .pairs = interleaved}, 2, {3}));
  rows.push_back(rope_case("magnitude", {.heads = 2, .dims = 4, .pairs = half_split, .magnitude = 1.3}, 5, counted(6)));
  rows.push_back(rope_case("frequencies", {.heads = 5, .dims = 32, .pairs = interleaved}, 33, counted(129)));
}

// ---- Attention ----------------------------------------------------------------------------------------------------

struct AttentionCase {
  std::string variant;
  Ints queries, keys = {};  // lengths; without keys it is self-attention
  int heads = 1;
  int64_t width = 1;
  bool causal = false;
  double dropout = 0;
  Rotary rotary = {};  // of queries and keys, where it has dims

  bool self() const { return keys.empty(); }
};

// Weight (head, query, key) takes one number of the stream: each key of each head has a run of its own, of whole blocks
// of 16 that hold the longest segment's queries.
reference::WeightFactor weight_factor(const DropoutMask& mask, int64_t key_rows, int64_t longest) {
  const int64_t run = (longest + 15) / 16 * 16;
  return [=](int head, int64_t query, int64_t key_row) {
    const uint64_t i = uint64_t((head * key_rows + key_row) * run + query);
    return random_u32(mask.seed, mask.stream, i) >= mask.rate * 0x1p32 ? 1 / (1 - mask.rate) : 0.0;
  };
}

// Queries count from 0 in each segment, keys from 3, or as the queries do.
Ints positions_in(const Ints& lengths, int32_t first) {
  Ints positions;
  for (int32_t n : lengths)
    for (int32_t i = 0; i < n; ++i) positions.push_back(first + i);
  return positions;
}

OpCase attention_case(AttentionCase c) {
  const Ints key_lengths = c.self() ? c.queries : c.keys;
  const Segments queries = Segments::from_lengths(c.queries), keys = Segments::from_lengths(key_lengths);
  const int64_t nq = queries.tokens(), nk = keys.tokens(), d = c.heads * c.width;
  const Ints query_positions = positions_in(c.queries, 0), key_positions = positions_in(key_lengths, c.self() ? 0 : 3);
  c.rotary.heads = c.heads;
  reference::WeightFactor factor;
  if (c.dropout > 0) factor = weight_factor(first_mask(c.dropout), nk, queries.longest());

  std::vector<Input> inputs;
  if (c.self()) {
    inputs.push_back({"qkv", {nq, 3 * d}});
  } else {
    inputs = {{"q", {nq, d}}, {"kv", {nk, 2 * d}}};
  }
  if (c.rotary.dims > 0) inputs.push_back(parameter("frequencies", {c.rotary.dims / 2}, 0.3, 0.5));
  return make_case(
      "attention/" + c.variant, inputs,
      [=](Tape&, const Vars& in) {
        AttentionOptions options{.heads = c.heads, .causal = c.causal, .dropout = c.dropout};
        if (c.rotary.dims > 0) {
          options.rotation = make_rotation(in.back(), 3 + std::max(queries.longest(), keys.longest()), c.rotary);
          options.query_positions = ids_tensor(query_positions);
          options.key_positions = ids_tensor(key_positions);
        }
        return c.self() ? self_attention(in[0], queries, options) : attention(in[0], in[1], queries, keys, options);
      },
      [=](const Values& in) {
        const auto turned = [&](const Value& x, const Ints& positions) {
          return c.rotary.dims > 0 ? reference::rope(x, in.back(), positions, c.rotary) : x;
        };
        const int64_t first_key = c.self() ? d : 0;
        const Value &x = in[0], &memory = c.self() ? in[0] : in[1];
        const Value q = turned(reference::columns(x, 0, d), query_positions);
        const Value k = turned(reference::columns(memory, first_key, d), key_positions);
        const Value v = reference::columns(memory, first_key + d, d);
        return reference::attention(q, k, v, queries, keys, c.heads, c.causal, factor);
      });
}

void add_attention(std::vector<OpCase>& rows) {
  using enum RotaryPairs;
  const Ints lengths{1, 2, 7, 65};
  for (const AttentionCase& c : std::vector<AttentionCase>{
           {.variant = "self", .queries = lengths, .heads = 2, .width = 5},
           {.variant = "causal", .queries = lengths, .heads = 3, .width = 16, .causal = true},
           {.variant = "cross", .queries = {3, 1, 40}, .keys = {5, 33, 1}, .heads = 2, .width = 9},
           {.variant = "dropout", .queries = {7, 34}, .keys = {65, 2}, .heads = 2, .width = 3, .dropout = 0.2},
           {.variant = "short-dropout", .queries = {13, 4, 1}, .heads = 2, .width = 4, .dropout = 0.3},
           {.variant = "causal-dropout", .queries = {33}, .width = 4, .causal = true, .dropout = 0.5},
           // Sizes around those of registers and blocks.
           {.variant = "sizes", .queries = {16, 31, 13}, .keys = {15, 17, 28}, .heads = 2, .width = 48},
           {.variant = "causal-sizes", .queries = {17, 29, 32, 33}, .width = 32, .causal = true},
           // Decoding against a cache, and prefixes that see nothing.
           {.variant = "more-keys", .queries = {1, 3}, .keys = {7, 34}, .heads = 2, .width = 4, .causal = true},
           {.variant = "blind-queries", .queries = {4, 2, 35}, .keys = {2, 0, 1}, .width = 3, .causal = true},
           {.variant = "empty-segments", .queries = {0, 2, 0, 3}, .keys = {3, 0, 0, 2}, .heads = 2, .width = 3},
           {.variant = "one-feature", .queries = {5}, .heads = 3},
           {.variant = "wide", .queries = {3}, .keys = {4}, .width = 129},
           {.variant = "rotated", .queries = {1, 9, 34}, .heads = 2, .width = 6, .rotary = {.dims = 6}},
           {.variant = "rotated-half-split",
           .queries = {13, 2},
           .heads = 2,
           .width = 32,
           .causal = true,
           .rotary = {.dims = 32, .pairs = half_split}},
           {.variant = "rotated-partly",
           .queries = {5, 3},
           .keys = {4, 18},
           .heads = 2,
           .width = 33,
           .rotary = {.dims = 16, .magnitude = 1.3}},
           {.variant = "rotated-partly-half-split",
           .queries = {5},
           .keys = {3},
           .width = 9,
           .rotary = {.dims = 6, .pairs = half_split}}}) {
    rows.push_back(attention_case(c));
  }
}

// ---- Losses -------------------------------------------------------------------------------------------------------

struct LossCase {
  std::string variant;
  int64_t rows, classes;
  double smoothing;
  bool ignored = false;  // leave every third row out
  double deviation = 1;  // of the logits
};

Ints loss_targets(const LossCase& c) {
  Ints targets = random_ids(c.rows, uint64_t(c.classes));
  for (size_t i = 0; c.ignored && i < targets.size(); i += 3) targets[i] = -1;
  return targets;
}

void add_losses(std::vector<OpCase>& rows) {
  for (const LossCase& c : std::vector<LossCase>{{"plain", 7, 5, 0},
                                                 {"smoothing", 300, 65, 0.1},
                                                 {"ignored", 7, 33, 0.1, true},
                                                 {"all-ignored", 1, 3, 0.1, true},
                                                 {"one-class", 3, 1, 0.1},
                                                 {"confident", 5, 17, 0.2, false, 20}}) {
    rows.push_back(make_case(
        "cross_entropy/" + c.variant, {{"logits", {c.rows, c.classes}, c.deviation}},
        [=](Tape&, const Vars& in) { return cross_entropy(in[0], ids_tensor(loss_targets(c)), c.smoothing).loss; },
        [=](const Values& in) { return reference::cross_entropy(in[0], loss_targets(c), c.smoothing); }));
  }
  // 2100 rows are several chunks.
  for (const LossCase& c :
       std::vector<LossCase>{{"plain", 7, 5, 0}, {"smoothing", 65, 33, 0.1}, {"ignored", 2100, 5, 0.1, true}}) {
    rows.push_back(make_case(
        "linear_cross_entropy/" + c.variant, {{"x", {c.rows, 3}}, parameter("w", {c.classes, 3})},
        [=](Tape&, const Vars& in) {
          return linear_cross_entropy(in[0], in[1], {}, ids_tensor(loss_targets(c)), c.smoothing).loss;
        },
        [=](const Values& in) {
          return reference::cross_entropy(reference::linear(in[0], in[1]), loss_targets(c), c.smoothing);
        }));
    rows.push_back(make_case(
        "linear_cross_entropy/" + c.variant + "-bias",
        {{"x", {c.rows, 3}}, parameter("w", {c.classes, 3}), parameter("bias", {c.classes})},
        [=](Tape&, const Vars& in) {
          return linear_cross_entropy(in[0], in[1], in[2], ids_tensor(loss_targets(c)), c.smoothing).loss;
        },
        [=](const Values& in) {
          return reference::cross_entropy(reference::linear(in[0], in[1], in[2]), loss_targets(c), c.smoothing);
        }));
  }
}

// A feed-forward block: every value but the last is used twice or handed through.
void add_composite(std::vector<OpCase>& rows) {
  const DropoutMask mask = first_mask(0.25);
  rows.push_back(make_case(
      "composite/feed-forward",
      {{"x", {9, 6}},
       parameter("gamma", {6}, 0.5, 1),
       parameter("beta", {6}),
       parameter("w1", {11, 6}),
       parameter("b1", {11}),
       parameter("w2", {6, 11})},
      [](Tape&, const Vars& in) {
        const Var hidden = gelu(linear(layer_norm(in[0], in[1], in[2]), in[3], in[4]));
        return residual_dropout(in[0], linear(hidden, in[5]), 0.25);
      },
      [=](const Values& in) {
        const Value normal = reference::layer_norm(in[0], in[1], in[2], 1e-5);
        const Value hidden = reference::activation(reference::linear(normal, in[3], in[4]), Activation::gelu);
        return in[0] + reference::dropout(reference::linear(hidden, in[5]), mask);
      }));
}

}  // namespace

std::vector<OpCase> op_cases() {
  std::vector<OpCase> rows;
  add_linear(rows);
  add_elementwise(rows);
  add_dropout(rows);
  add_layer_norm(rows);
  add_residual_layer_norm(rows);
  add_embedding(rows);
  add_rope(rows);
  add_attention(rows);
  add_losses(rows);
  add_composite(rows);
  return rows;
}

std::vector<OpCase> op_cases(std::string_view name) {
  std::vector<OpCase> chosen;
  std::string ops;  // for the error
  for (OpCase& row : op_cases()) {
    const std::string op = row.name.substr(0, row.name.find('/'));
    if (!ops.ends_with(op)) ops += (ops.empty() ? "" : ", ") + op;
    if (name == "all" || name == row.name || name == op) chosen.push_back(std::move(row));
  }
  if (chosen.empty()) throw UsageError("[gradcheck] expected all or one of ", ops, "; got ", name);
  return chosen;
}

std::vector<OpCheck> run_gradcheck(std::string_view name, Kernels& kernels) {
  std::vector<OpCheck> checks;
  for (const OpCase& row : op_cases(name)) {
    OpCheck check{.op = row.name, .inputs = gradcheck(kernels, row.op, row.inputs, {.tape = kOpCaseTape})};
    for (const GradcheckResult& result : check.inputs) {
      check.passed = check.passed && result.passed;
      // NaN is the worst of all.
      if (!(result.error <= check.max_error)) check.max_error = result.error;
      if (std::isnan(result.error)) break;
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace gyre
