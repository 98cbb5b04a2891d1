// Rows of softmax attention: segments, masks, dropout, rotations, windows and position terms; and head_dot.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "gyre/autograd/gradcheck/op_cases/rows.h"
#include "gyre/core/random.h"

namespace gyre::op_rows {

namespace {

OpCase rope_case(const std::string& variant, const RopeShape& rotary, int64_t width, const Ints& positions) {
  const int64_t n = int64_t(positions.size());
  return make_case(
      "rope/" + variant, {{"x", {n, rotary.heads * width}}, parameter("frequencies", {rotary.dims / 2}, 0.3, 0.5)},
      [=](Tape&, const Vars& in) {
        const int64_t angles = *std::max_element(positions.begin(), positions.end()) + 1;
        return rope(in[0], make_rotation(in[1], angles, rotary), ids_tensor(positions));
      },
      [=](const Values& in) { return reference::rope(in[0], in[1], positions, rotary); });
}

Ints first_positions(int32_t n) {
  Ints positions;
  for (int32_t i = 0; i < n; ++i) positions.push_back(i);
  return positions;
}

}  // namespace

void add_rope(std::vector<OpCase>& rows) {
  using enum RotaryPairs;
  rows.push_back(rope_case("interleaved", {.heads = 2, .dims = 6, .pairs = interleaved}, 6, first_positions(7)));
  rows.push_back(rope_case("half-split", {.heads = 2, .dims = 6, .pairs = half_split}, 6, first_positions(7)));
  rows.push_back(rope_case("partial", {.heads = 3, .dims = 4, .pairs = interleaved}, 7, first_positions(5)));
  rows.push_back(rope_case("partial-half-split", {.heads = 3, .dims = 4, .pairs = half_split}, 7, first_positions(5)));
  // Several sentences in a batch, one of them the continuation of an earlier text.
  rows.push_back(rope_case("offsets", {.heads = 1, .dims = 4, .pairs = half_split}, 4, {0, 1, 2, 57, 58, 0, 1}));
  rows.push_back(rope_case("one-token", {.heads = 1, .dims = 2, .pairs = interleaved}, 2, {3}));
  rows.push_back(
      rope_case("magnitude", {.heads = 2, .dims = 4, .pairs = half_split, .magnitude = 1.3}, 5, first_positions(6)));
  rows.push_back(rope_case("step", {.heads = 2, .dims = 4, .position_scale = 0.37}, 5, first_positions(6)));
  rows.push_back(rope_case("frequencies", {.heads = 5, .dims = 32, .pairs = interleaved}, 33, first_positions(129)));
}

namespace {

struct AttentionCase {
  std::string variant;
  Ints queries, keys = {};  // lengths of the segments; empty keys: self-attention
  int heads = 1;
  int64_t width = 1;
  bool causal = false;
  double dropout = 0;
  RopeShape rotary = {};  // rotation of queries and keys; none if dims is 0
  int64_t window = AttentionShape::kUnlimited;
  std::string terms = {};      // subset of "bqkvp": bias, query_table, key_table, value_table, pos_queries and pos_keys
  bool shared_tables = false;  // whether all heads share the tables
  int kv_heads = 0;            // 0: as many as heads
  bool apart = false;          // whether keys and values are separate inputs

  bool self() const { return keys.empty(); }
  int group() const { return kv_heads > 0 ? heads / kv_heads : 1; }
};

// Dropout of attention weights, as defined at AttentionShape::dropout: each weight (head, query, key) uses one number
// of the stream. Each (head, key) has a separate run of numbers, as long as the longest segment of queries, rounded up
// to a multiple of 16.
reference::WeightFactor weight_factor(const DropoutMask& mask, int64_t key_rows, int64_t longest) {
  const int64_t run = (longest + 15) / 16 * 16;
  return [=](int head, int64_t query, int64_t key_row) {
    const uint64_t i = uint64_t((head * key_rows + key_row) * run + query);
    return random_u32(mask.seed, mask.stream, i) >= mask.rate * 0x1p32 ? 1 / (1 - mask.rate) : 0.0;
  };
}

// The position of each row: in every segment, positions count up from `first`.
Ints positions_in(const Ints& lengths, int32_t first) {
  Ints positions;
  for (int32_t n : lengths)
    for (int32_t i = 0; i < n; ++i) positions.push_back(first + i);
  return positions;
}

// Inputs of the case's position terms. The tables have two more distances on each side than the segments need.
std::vector<Input> term_inputs(const AttentionCase& c, int64_t zero_offset, int64_t longest) {
  constexpr int64_t pos_width = 3;
  const int64_t columns = c.shared_tables ? c.width : c.heads * c.width, distances = 2 * zero_offset + 1;
  std::vector<Input> inputs;
  for (const char term : c.terms) {
    if (term == 'b') inputs.push_back(parameter("bias", {distances, c.heads}));
    if (term == 'q') inputs.push_back(parameter("query_table", {distances, columns}));
    if (term == 'k') inputs.push_back(parameter("key_table", {distances, columns}));
    if (term == 'v') inputs.push_back(parameter("value_table", {distances, columns}));
    if (term != 'p') continue;
    inputs.push_back(parameter("pos_queries", {longest, c.heads * pos_width}));
    inputs.push_back(parameter("pos_keys", {longest, c.heads * pos_width}));
  }
  return inputs;
}

// The position terms from a row's inputs (Vars of a tape or Values of the reference): the last ones, in the order of
// term_inputs().
template <class Terms, class X>
Terms terms_from(const std::vector<X>& inputs, const std::string& names, int64_t zero_offset) {
  Terms terms;
  terms.zero_offset = zero_offset;
  size_t next = inputs.size() - names.size() - size_t(names.find('p') != names.npos);
  for (const char term : names) {
    if (term == 'b') terms.bias = inputs[next++];
    if (term == 'q') terms.query_table = inputs[next++];
    if (term == 'k') terms.key_table = inputs[next++];
    if (term == 'v') terms.value_table = inputs[next++];
    if (term != 'p') continue;
    terms.pos_queries = inputs[next++];
    terms.pos_keys = inputs[next++];
  }
  return terms;
}

// Each head of x(n, heads * width) `group` times.
Value repeat_heads(const Value& x, int group, int64_t width) {
  const int64_t columns = x.cols() * group;
  std::vector<int64_t> index;
  for (int64_t row = 0; row < x.rows(); ++row)
    for (int64_t column = 0; column < columns; ++column)
      index.push_back(row * x.cols() + column / width / group * width + column % width);
  return reference::gather(x, x.rows(), columns, index);
}

std::vector<Input> attention_inputs(const AttentionCase& c, int64_t nq, int64_t nk) {
  const int64_t d = c.heads * c.width, kd = d / c.group();
  if (c.apart) return {{"q", {nq, d}}, {"k", {nk, kd}}, {"v", {nk, kd}}};
  if (c.self()) return {{"qkv", {nq, d + 2 * kd}}};
  return {{"q", {nq, d}}, {"kv", {nk, 2 * kd}}};
}

Var run_attention(const AttentionCase& c, const Vars& in, const Segments& queries, const Segments& keys,
                  const AttentionOptions& options) {
  if (c.apart) return attention(in[0], in[1], in[2], queries, keys, options);
  return c.self() ? self_attention(in[0], queries, options) : attention(in[0], in[1], queries, keys, options);
}

OpCase attention_case(AttentionCase c) {
  const Ints key_lengths = c.self() ? c.queries : c.keys;
  const Segments queries = Segments::from_lengths(c.queries), keys = Segments::from_lengths(key_lengths);
  const int64_t nq = queries.tokens(), nk = keys.tokens(), d = c.heads * c.width, kd = d / c.group();
  const Ints query_positions = positions_in(c.queries, 0), key_positions = positions_in(key_lengths, c.self() ? 0 : 3);
  c.rotary.heads = c.heads;
  reference::WeightFactor factor;
  if (c.dropout > 0) factor = weight_factor(first_mask(c.dropout), nk, queries.longest());

  std::vector<Input> inputs = attention_inputs(c, nq, nk);
  const size_t frequencies = inputs.size();
  if (c.rotary.dims > 0) inputs.push_back(parameter("frequencies", {c.rotary.dims / 2}, 0.3, 0.5));
  const int64_t longest = std::max(queries.longest(), keys.longest()), zero_offset = longest + 1;
  for (const Input& term : term_inputs(c, zero_offset, longest)) inputs.push_back(term);
  return make_case(
      "attention/" + c.variant, inputs,
      [=](Tape&, const Vars& in) {
        AttentionOptions options{
            .heads = c.heads, .kv_heads = c.kv_heads, .causal = c.causal, .window = c.window, .dropout = c.dropout};
        options.terms = terms_from<PositionTerms>(in, c.terms, zero_offset);
        if (c.rotary.dims > 0) {
          options.rotation = make_rotation(in[frequencies], 3 + longest, c.rotary);
          options.query_positions = ids_tensor(query_positions);
          options.key_positions = ids_tensor(key_positions);
        }
        return run_attention(c, in, queries, keys, options);
      },
      [=](const Values& in) {
        const auto turned = [&](const Value& x, const Ints& positions) {
          return c.rotary.dims > 0 ? reference::rope(x, in[frequencies], positions, c.rotary) : x;
        };
        const auto heads_of = [&](const Value& x, int64_t first) {
          return repeat_heads(reference::columns(x, first, kd), c.group(), c.width);
        };
        const bool together = c.self() && !c.apart;
        const int64_t first_key = together ? d : 0;
        const Value& memory = together ? in[0] : in[1];
        const Value q = turned(reference::columns(in[0], 0, d), query_positions);
        const Value k = turned(heads_of(memory, first_key), key_positions);
        const Value v = c.apart ? heads_of(in[2], 0) : heads_of(memory, first_key + kd);
        return reference::attention(q, k, v, queries, keys,
                                    {c.heads, c.causal, c.window, 1 / std::sqrt(double(c.width)), factor},
                                    terms_from<reference::PositionTerms>(in, c.terms, zero_offset));
      });
}

}  // namespace

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
           // Sizes near those of registers and blocks.
           {.variant = "sizes", .queries = {16, 31, 13}, .keys = {15, 17, 28}, .heads = 2, .width = 48},
           {.variant = "causal-sizes", .queries = {17, 29, 32, 33}, .width = 32, .causal = true},
           // Several tiles of the tensor cores of GPUs, which have 64 rows of heads of 32, 64 or 128 features.
           {.variant = "tiles-causal", .queries = {1, 63, 64, 65, 130, 0, 17}, .width = 32, .causal = true},
           {.variant = "tiles-dropout", .queries = {1, 64, 65, 0, 129}, .width = 64, .dropout = 0.3},
           {.variant = "tiles-cross", .queries = {3, 70, 129}, .keys = {70, 5, 1}, .heads = 2, .width = 64},
           {.variant = "tiles-no-queries", .queries = {3, 0, 9}, .keys = {7, 80, 66}, .heads = 2, .width = 64},
           {.variant = "tiles-wide",
           .queries = {66, 10},
           .keys = {130, 5},
           .width = 128,
           .causal = true,
           .dropout = 0.2},
           {.variant = "tiles-blind", .queries = {70, 3, 140}, .keys = {2, 90, 20}, .width = 32, .causal = true},
           {.variant = "tiles-short-dropout", .queries = {13, 30, 64}, .heads = 3, .width = 32, .dropout = 0.4},
           {.variant = "tiles-rotated",
           .queries = {70, 9},
           .heads = 2,
           .width = 64,
           .causal = true,
           .rotary = {.dims = 64}},
           {.variant = "tiles-rotated-half-split",
           .queries = {70, 9},
           .width = 64,
           .rotary = {.dims = 32, .pairs = half_split}},
           {.variant = "tiles-rotated-partly", .queries = {70, 9}, .width = 64, .rotary = {.dims = 12}},
           // Short segments, which share tiles there, and segments that need several tiles of queries or keys.
           {.variant = "packed",
           .queries = {5, 16, 17, 30, 0, 33, 48, 64, 1, 20},
           .heads = 2,
           .width = 64,
           .causal = true},
           {.variant = "packed-cross",
           .queries = {0, 3, 17, 16, 40, 5},
           .keys = {5, 0, 2, 33, 16, 50},
           .heads = 2,
           .width = 32,
           .dropout = 0.3},
           {.variant = "packed-rotated",
           .queries = {1, 17, 30, 12, 5},
           .width = 64,
           .causal = true,
           .dropout = 0.2,
           .rotary = {.dims = 64, .pairs = half_split}},
           {.variant = "packed-wide", .queries = {15, 31, 2}, .keys = {20, 7, 3}, .width = 128, .causal = true},
           {.variant = "tiles-causal-dropout", .queries = {100, 30}, .width = 64, .causal = true, .dropout = 0.3},
           {.variant = "tiles-cross-dropout", .queries = {40, 129}, .keys = {130, 7}, .width = 32, .dropout = 0.2},
           {.variant = "tiles-wide-cross", .queries = {20, 70}, .keys = {150, 66}, .width = 128},
           // Decoding with a cache, and queries without visible keys.
           {.variant = "more-keys", .queries = {1, 3}, .keys = {7, 34}, .heads = 2, .width = 4, .causal = true},
           {.variant = "blind-queries", .queries = {4, 2, 35}, .keys = {2, 0, 1}, .width = 3, .causal = true},
           {.variant = "empty-segments", .queries = {0, 2, 0, 3}, .keys = {3, 0, 0, 2}, .heads = 2, .width = 3},
           {.variant = "one-feature", .queries = {5}, .heads = 3},
           // Heads that share keys and values.
           {.variant = "grouped", .queries = lengths, .heads = 6, .width = 5, .causal = true, .kv_heads = 2},
           {.variant = "grouped-one-head", .queries = {1, 34}, .heads = 3, .width = 16, .causal = true, .kv_heads = 1},
           {.variant = "grouped-cross",
           .queries = {3, 0, 40},
           .keys = {5, 33, 2},
           .heads = 4,
           .width = 9,
           .dropout = 0.2,
           .kv_heads = 2},
           {.variant = "grouped-rotated",
           .queries = {1, 9, 34},
           .heads = 4,
           .width = 6,
           .causal = true,
           .rotary = {.dims = 4, .pairs = half_split},
           .kv_heads = 2},
           {.variant = "grouped-apart",
           .queries = {7, 1, 35},
           .heads = 4,
           .width = 8,
           .causal = true,
           .rotary = {.dims = 8},
           .window = 9,
           .kv_heads = 2,
           .apart = true},
           {.variant = "grouped-terms",
           .queries = {4, 19},
           .heads = 4,
           .width = 5,
           .causal = true,
           .terms = "bqkvp",
           .kv_heads = 2},
           {.variant = "apart", .queries = {5, 18}, .heads = 2, .width = 7, .dropout = 0.3, .apart = true},
           {.variant = "tiles-grouped",
           .queries = {1, 65, 130, 17},
           .heads = 4,
           .width = 32,
           .causal = true,
           .kv_heads = 2},
           {.variant = "tiles-grouped-rotated",
           .queries = {70, 9},
           .heads = 4,
           .width = 64,
           .causal = true,
           .dropout = 0.2,
           .rotary = {.dims = 64, .pairs = half_split},
           .kv_heads = 1},
           {.variant = "packed-grouped-rotated",
           .queries = {5, 16, 17, 33, 1},
           .heads = 4,
           .width = 64,
           .causal = true,
           .rotary = {.dims = 64},
           .kv_heads = 2,
           .apart = true},
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
           .rotary = {.dims = 6, .pairs = half_split}},
           // Windows: shorter and longer than a block, of one token, with earlier keys from a cache.
           {.variant = "window", .queries = {1, 7, 70}, .heads = 2, .width = 4, .window = 5},
           {.variant = "causal-window", .queries = {70, 3}, .heads = 2, .width = 4, .causal = true, .window = 36},
           {.variant = "window-of-one", .queries = {20}, .width = 3, .causal = true, .window = 0},
           {.variant = "window-dropout",
           .queries = {13},
           .keys = {40},
           .width = 3,
           .causal = true,
           .dropout = 0.3,
           .window = 9},
           {.variant = "window-over-cache",
           .queries = {3, 17},
           .keys = {70, 90},
           .width = 8,
           .causal = true,
           .window = 21},
           // Position terms.
           {.variant = "bias", .queries = {1, 2, 40}, .heads = 3, .width = 3, .terms = "b"},
           {.variant = "query-table", .queries = {1, 2, 35}, .heads = 2, .width = 9, .terms = "q"},
           {.variant = "key-table", .queries = {1, 2, 35}, .heads = 2, .width = 9, .terms = "k"},
           {.variant = "value-table", .queries = {1, 2, 35}, .heads = 2, .width = 9, .terms = "v"},
           {.variant = "places", .queries = {1, 2, 35}, .heads = 2, .width = 5, .terms = "p"},
           {.variant = "causal-query-table",
           .queries = {33, 2},
           .heads = 2,
           .width = 16,
           .causal = true,
           .terms = "bq"},
           {.variant = "causal-key-table", .queries = {33, 2}, .heads = 2, .width = 16, .causal = true, .terms = "k"},
           {.variant = "shared-tables",
           .queries = {5, 18},
           .heads = 3,
           .width = 4,
           .terms = "qkv",
           .shared_tables = true},
           {.variant = "terms-dropout",
           .queries = {9, 21},
           .heads = 2,
           .width = 4,
           .causal = true,
           .dropout = 0.3,
           .terms = "bqkvp"},
           {.variant = "terms-window", .queries = {50, 1}, .heads = 2, .width = 4, .window = 11, .terms = "bqkvp"},
           {.variant = "terms-more-keys",
           .queries = {1, 5, 18},
           .keys = {7, 34, 90},
           .width = 6,
           .causal = true,
           .terms = "bqkvp"},
           {.variant = "terms-cross",
           .queries = {3, 0, 20},
           .keys = {5, 3, 1},
           .heads = 2,
           .width = 5,
           .terms = "bqkvp"},
           {.variant = "terms-rotated",
           .queries = {4, 19},
           .heads = 2,
           .width = 8,
           .causal = true,
           .rotary = {.dims = 8},
           .terms = "bqkv"}}) {
    rows.push_back(attention_case(c));
  }
  for (const auto& [variant, n, heads, width] :
       {std::tuple{"odd-sizes", 35, 3, 7}, {"one-number", 1, 1, 1}, {"wide", 5, 2, 129}, {"no-rows", 0, 2, 3}}) {
    rows.push_back(make_case(
        concat("head_dot/", variant), {parameter("x", {n, heads * width}), parameter("w", {heads * width})},
        [heads = heads](Tape&, const Vars& in) { return head_dot(in[0], in[1], heads, 0.7); },
        [heads = heads](const Values& in) { return reference::head_dot(in[0], in[1], heads, 0.7); }));
  }
}

}  // namespace gyre::op_rows
