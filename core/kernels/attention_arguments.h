// Arguments of the attention kernels: shape and mask, rotary position embedding, relative position terms.
#pragma once

#include <cstdint>

#include "gyre/core/kernels/elementwise_arguments.h"
#include "gyre/core/tensor.h"

namespace gyre {

// Pairing of the features of a head in rotary position embedding.
enum class RotaryPairs : uint8_t { interleaved, half_split };  // (2i, 2i+1), or (i, i + dims/2)

// Parameters of rotary position embedding (RoPE).
struct Rotary {
  int heads = 1;
  int dims = 0;  // rotated features per head: even, at most the head width; the other features are not rotated
  RotaryPairs pairs = RotaryPairs::interleaved;
  double magnitude = 1;       // YaRN's scale factor of the rotated features
  double position_scale = 1;  // position interpolation: position i is rotated by the angle of i * position_scale
};

// One projection inside a wider tensor, such as Q in fused [Q | K | V]: columns [first, first + heads * width) of each
// row.
struct HeadColumns {
  Tensor rows;
  int64_t first = 0;
};

// Rotary position embedding of queries and keys, applied before their dot product. Without angles, nothing is rotated.
struct AttentionRotation {
  Rotary rotary;
  Tensor angles;                          // result of Kernels::rotary_angles
  Tensor query_positions, key_positions;  // i32, one per row: the row of `angles` to rotate by
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
struct AttentionPositionTerms {
  Tensor bias;                                 // (distances, heads)
  Tensor query_table, key_table, value_table;  // (distances, columns)
  Tensor pos_queries, pos_keys;                // (positions, heads * any width), indexed by position
  int64_t zero_offset = 0;                     // row of distance 0

  bool has_distances() const { return bias || query_table || key_table || value_table; }
  explicit operator bool() const { return has_distances() || pos_queries; }
};

// Range of a scan over a segment: each row sums over itself and the rows before it, itself and the rows after it, or
// all rows.
enum class ScanDirection : uint8_t { before, after, all };
constexpr ScanDirection reversed(ScanDirection d) {
  if (d == ScanDirection::all) return d;
  return d == ScanDirection::before ? ScanDirection::after : ScanDirection::before;
}

}  // namespace gyre
