// Rows of softmax attention: segments, masks, dropout, rotations, windows and position terms; and head_dot.
#include <algorithm>
#include <tuple>

#include "gyre/autograd/gradcheck/op_cases/rows.h"

namespace gyre::op_rows {

namespace {

OpCase rope_case(const std::string& variant, const RopeShape& rotary, int64_t width, const Ints& positions) {
  const int64_t n = int64_t(positions.size());
  return make_case("rope/" + variant,
                   {{"x", {n, rotary.heads * width}}, parameter("frequencies", {rotary.dims / 2}, 0.3, 0.5)},
                   [=](const Vars& in) {
                     const int64_t angles = *std::max_element(positions.begin(), positions.end()) + 1;
                     return rope(in[0], make_rope(in[1], angles, rotary), ids_tensor(positions));
                   });
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

// The position terms from a row's inputs: the last ones, in the order of term_inputs().
PositionTerms terms_from(const Vars& inputs, const std::string& names, int64_t zero_offset) {
  PositionTerms terms;
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
  const int64_t nq = queries.tokens(), nk = keys.tokens();
  const Ints query_positions = positions_in(c.queries, 0), key_positions = positions_in(key_lengths, c.self() ? 0 : 3);
  c.rotary.heads = c.heads;

  std::vector<Input> inputs = attention_inputs(c, nq, nk);
  const size_t frequencies = inputs.size();
  if (c.rotary.dims > 0) inputs.push_back(parameter("frequencies", {c.rotary.dims / 2}, 0.3, 0.5));
  const int64_t longest = std::max(queries.longest(), keys.longest()), zero_offset = longest + 1;
  for (const Input& term : term_inputs(c, zero_offset, longest)) inputs.push_back(term);
  return make_case("attention/" + c.variant, inputs, [=](const Vars& in) {
    AttentionOptions options{
        .heads = c.heads, .kv_heads = c.kv_heads, .causal = c.causal, .window = c.window, .dropout = c.dropout};
    options.terms = terms_from(in, c.terms, zero_offset);
    if (c.rotary.dims > 0) {
      options.rotation = make_rope(in[frequencies], 3 + longest, c.rotary);
      options.query_positions = ids_tensor(query_positions);
      options.key_positions = ids_tensor(key_positions);
    }
    return run_attention(c, in, queries, keys, options);
  });
}

}  // namespace

void add_attention(std::vector<OpCase>& rows) {
  using enum RotaryPairs;
  const auto row = [&](const char* variant, const Ints& queries, const Ints& keys, const auto&... changes) {
    AttentionCase c{.variant = variant, .queries = queries, .keys = keys};
    (changes(c), ...);
    rows.push_back(attention_case(c));
  };
  const auto heads = [](int n) { return [n](AttentionCase& c) { c.heads = n; }; };
  const auto kv_heads = [](int n) { return [n](AttentionCase& c) { c.kv_heads = n; }; };
  const auto width = [](int64_t n) { return [n](AttentionCase& c) { c.width = n; }; };
  const auto window = [](int64_t n) { return [n](AttentionCase& c) { c.window = n; }; };
  const auto dropout = [](double rate) { return [rate](AttentionCase& c) { c.dropout = rate; }; };
  const auto rotary = [](const RopeShape& shape) { return [shape](AttentionCase& c) { c.rotary = shape; }; };
  const auto terms = [](const char* names) { return [names](AttentionCase& c) { c.terms = names; }; };
  const auto causal = [](AttentionCase& c) { c.causal = true; };
  const auto shared_tables = [](AttentionCase& c) { c.shared_tables = true; };
  const auto apart = [](AttentionCase& c) { c.apart = true; };

  const Ints lengths{1, 2, 7, 65};
  row("self", lengths, {}, heads(2), width(5));
  row("causal", lengths, {}, heads(3), width(16), causal);
  row("cross", {3, 1, 40}, {5, 33, 1}, heads(2), width(9));
  row("dropout", {7, 34}, {65, 2}, heads(2), width(3), dropout(0.2));
  row("short-dropout", {13, 4, 1}, {}, heads(2), width(4), dropout(0.3));
  row("causal-dropout", {33}, {}, width(4), causal, dropout(0.5));
  // Sizes near those of registers and blocks.
  row("sizes", {16, 31, 13}, {15, 17, 28}, heads(2), width(48));
  row("causal-sizes", {17, 29, 32, 33}, {}, width(32), causal);
  // Several tiles of the tensor cores of GPUs, which have 64 rows of heads of 32, 64 or 128 features.
  row("tiles-causal", {1, 63, 64, 65, 130, 0, 17}, {}, width(32), causal);
  row("tiles-dropout", {1, 64, 65, 0, 129}, {}, width(64), dropout(0.3));
  row("tiles-cross", {3, 70, 129}, {70, 5, 1}, heads(2), width(64));
  row("tiles-no-queries", {3, 0, 9}, {7, 80, 66}, heads(2), width(64));
  row("tiles-wide", {66, 10}, {130, 5}, width(128), causal, dropout(0.2));
  row("tiles-blind", {70, 3, 140}, {2, 90, 20}, width(32), causal);
  row("tiles-short-dropout", {13, 30, 64}, {}, heads(3), width(32), dropout(0.4));
  row("tiles-rotated", {70, 9}, {}, heads(2), width(64), causal, rotary({.dims = 64}));
  row("tiles-rotated-half-split", {70, 9}, {}, width(64), rotary({.dims = 32, .pairs = half_split}));
  row("tiles-rotated-partly", {70, 9}, {}, width(64), rotary({.dims = 12}));
  // More tiles than Hopper's kernels have stages, and their windows.
  row("tiles-stages", {400, 5}, {}, width(32), causal, dropout(0.1));
  row("tiles-window", {150, 70, 5}, {}, width(64), causal, window(40));
  row("tiles-grouped-window", {70, 3}, {200, 90}, heads(2), kv_heads(1), width(64), window(50));
  row("tiles-window-rotated", {150}, {}, heads(2), kv_heads(1), width(64), causal, window(40), rotary({.dims = 64}));
  row("tiles-bias", {140, 5}, {}, width(32), causal, terms("b"));
  row("tiles-grouped-bias", {70, 3}, {140, 90}, heads(2), kv_heads(1), width(64), window(60), terms("b"));
  // Short segments, which share tiles there, and segments that need several tiles of queries or keys.
  row("packed", {5, 16, 17, 30, 0, 33, 48, 64, 1, 20}, {}, heads(2), width(64), causal);
  row("packed-cross", {0, 3, 17, 16, 40, 5}, {5, 0, 2, 33, 16, 50}, heads(2), width(32), dropout(0.3));
  row("packed-rotated", {1, 17, 30, 12, 5}, {}, width(64), causal, dropout(0.2),
      rotary({.dims = 64, .pairs = half_split}));
  row("packed-wide", {15, 31, 2}, {20, 7, 3}, width(128), causal);
  row("tiles-causal-dropout", {100, 30}, {}, width(64), causal, dropout(0.3));
  row("tiles-cross-dropout", {40, 129}, {130, 7}, width(32), dropout(0.2));
  row("tiles-wide-cross", {20, 70}, {150, 66}, width(128));
  row("tiles-wide-rotated", {70, 9}, {}, heads(2), kv_heads(1), width(128), causal, rotary({.dims = 128}));
  // Decoding with a cache, and queries without visible keys.
  row("more-keys", {1, 3}, {7, 34}, heads(2), width(4), causal);
  row("blind-queries", {4, 2, 35}, {2, 0, 1}, width(3), causal);
  row("empty-segments", {0, 2, 0, 3}, {3, 0, 0, 2}, heads(2), width(3));
  row("one-feature", {5}, {}, heads(3));
  // Heads that share keys and values.
  row("grouped", lengths, {}, heads(6), kv_heads(2), width(5), causal);
  row("grouped-one-head", {1, 34}, {}, heads(3), kv_heads(1), width(16), causal);
  row("grouped-cross", {3, 0, 40}, {5, 33, 2}, heads(4), kv_heads(2), width(9), dropout(0.2));
  row("grouped-rotated", {1, 9, 34}, {}, heads(4), kv_heads(2), width(6), causal,
      rotary({.dims = 4, .pairs = half_split}));
  row("grouped-apart", {7, 1, 35}, {}, heads(4), kv_heads(2), width(8), causal, window(9), rotary({.dims = 8}), apart);
  row("grouped-terms", {4, 19}, {}, heads(4), kv_heads(2), width(5), causal, terms("bqkvp"));
  row("apart", {5, 18}, {}, heads(2), width(7), dropout(0.3), apart);
  row("tiles-grouped", {1, 65, 130, 17}, {}, heads(4), kv_heads(2), width(32), causal);
  row("tiles-grouped-rotated", {70, 9}, {}, heads(4), kv_heads(1), width(64), causal, dropout(0.2),
      rotary({.dims = 64, .pairs = half_split}));
  row("packed-grouped-rotated", {5, 16, 17, 33, 1}, {}, heads(4), kv_heads(2), width(64), causal, rotary({.dims = 64}),
      apart);
  row("wide", {3}, {4}, width(129));
  row("rotated", {1, 9, 34}, {}, heads(2), width(6), rotary({.dims = 6}));
  row("rotated-half-split", {13, 2}, {}, heads(2), width(32), causal, rotary({.dims = 32, .pairs = half_split}));
  row("rotated-partly", {5, 3}, {4, 18}, heads(2), width(33), rotary({.dims = 16, .magnitude = 1.3}));
  row("rotated-partly-half-split", {5}, {3}, width(9), rotary({.dims = 6, .pairs = half_split}));
  // Windows: shorter and longer than a block, of one token, with earlier keys from a cache.
  row("window", {1, 7, 70}, {}, heads(2), width(4), window(5));
  row("causal-window", {70, 3}, {}, heads(2), width(4), causal, window(36));
  row("window-of-one", {20}, {}, width(3), causal, window(0));
  row("window-dropout", {13}, {40}, width(3), causal, window(9), dropout(0.3));
  row("window-over-cache", {3, 17}, {70, 90}, width(8), causal, window(21));
  // Position terms.
  row("bias", {1, 2, 40}, {}, heads(3), width(3), terms("b"));
  row("query-table", {1, 2, 35}, {}, heads(2), width(9), terms("q"));
  row("key-table", {1, 2, 35}, {}, heads(2), width(9), terms("k"));
  row("value-table", {1, 2, 35}, {}, heads(2), width(9), terms("v"));
  row("places", {1, 2, 35}, {}, heads(2), width(5), terms("p"));
  row("causal-query-table", {33, 2}, {}, heads(2), width(16), causal, terms("bq"));
  row("causal-key-table", {33, 2}, {}, heads(2), width(16), causal, terms("k"));
  row("shared-tables", {5, 18}, {}, heads(3), width(4), terms("qkv"), shared_tables);
  row("terms-dropout", {9, 21}, {}, heads(2), width(4), causal, dropout(0.3), terms("bqkvp"));
  row("terms-window", {50, 1}, {}, heads(2), width(4), window(11), terms("bqkvp"));
  row("terms-more-keys", {1, 5, 18}, {7, 34, 90}, width(6), causal, terms("bqkvp"));
  row("terms-cross", {3, 0, 20}, {5, 3, 1}, heads(2), width(5), terms("bqkvp"));
  row("terms-rotated", {4, 19}, {}, heads(2), width(8), causal, rotary({.dims = 8}), terms("bqkv"));
  for (const auto& [variant, n, count, size] :
       {std::tuple{"odd-sizes", 35, 3, 7}, {"one-number", 1, 1, 1}, {"wide", 5, 2, 129}, {"no-rows", 0, 2, 3}}) {
    add_case(rows, concat("head_dot/", variant), {parameter("x", {n, count * size}), parameter("w", {count * size})},
             [count = count](const Vars& in) { return head_dot(in[0], in[1], count, 0.7); });
  }
}

}  // namespace gyre::op_rows
