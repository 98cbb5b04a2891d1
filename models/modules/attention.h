// Multi-head attention (Vaswani et al. 2017, 3.2.2) over packed segments. Projections of the same rows are fused into
// one matrix product.
#pragma once

#include <optional>
#include <string>

#include "gyre/models/config/config.h"
#include "gyre/models/modules/key_value_cache.h"
#include "gyre/models/modules/linear.h"
#include "gyre/models/modules/token_cache.h"

namespace gyre {

// Self-attention: queries, keys and values are projections of the same rows. With grouped queries, there are fewer
// heads of keys and values (AttentionShape).
class SelfAttention {
 public:
  // Registers parent.name.{qkv,out}_proj, with qk_norm parent.name.{q,k}_norm, and with FAVOR+
  // parent.name.random_vectors. The output of qkv_proj is [queries | keys | values]. `layer` is the index of the layer
  // in its stack.
  SelfAttention(Parameters& parameters, const std::string& parent, const std::string& name, int layer,
                const LayerConfig& config);

  // x(n, dim) -> (n, dim). Rows attend to rows of their own segment; if causal, only to themselves and to earlier rows.
  Var operator()(const Var& x, const Segments& segments, const RowPositions& positions, bool causal) const;

  // One step of decoding: the next token of each hypothesis, x(rows, dim), attends to the hypothesis's tokens in the
  // cache and to itself. Adds its key and value to the cache. Records nothing.
  Var step(const Var& x, const RowPositions& positions, KeyValueCache& cache) const;

  // Continuing texts: each row of the current chunk of the cache, x(n, dim), attends to itself and to the rows before
  // it in its text and in the window. Stores its key and value in the cache. Records nothing.
  Var advance(const Var& x, const RowPositions& positions, TokenCache& cache) const;

 private:
  // Queries, keys and values of x in separate tensors, the first two normalized if the model does that.
  struct Projections {
    Var q, k, v;
  };
  Projections project(const Var& x) const;
  // The input of out_proj.
  Var attend(const Var& x, const Segments& segments, const RowPositions& positions, bool causal) const;
  // With a cache, the rows are the next ones of its texts.
  Var attend_linearly(const Var& x, const Segments& segments, const RowPositions& positions, bool causal,
                      TokenCache* cache = nullptr) const;

  std::string name_;
  int layer_;
  int64_t dim_, key_dim_;  // columns of the queries, and of the keys
  LinearLayer qkv_proj_, out_proj_;
  std::optional<NormLayer> q_norm_, k_norm_;
  AttentionOptions options_;
  AttentionConfig attention_;
  Parameter* random_vectors_ = nullptr;  // (features, head width), for FAVOR+: random, not trained
};

// Projected keys and values to which the queries of a cross-attention attend.
struct AttentionMemory {
  Var keys_values;  // (rows of the segments, 2 * dim)
  Segments segments;
  Tensor positions;  // positions of the rows; undefined if the keys are not rotated, or are rotated already
};

// Cross-attention: keys and values are projections of other rows than the queries.
class CrossAttention {
 public:
  // Registers parent.name.{q,kv,out}_proj. The output of kv_proj is [keys | values].
  CrossAttention(Parameters& parameters, const std::string& parent, const std::string& name, const LayerConfig& config);

  AttentionMemory project(const Var& x, const Segments& segments, const RowPositions& positions) const;
  // project() for decoding: rotates the keys once for all later queries. Records nothing.
  AttentionMemory project_rotated(const Var& x, const Segments& segments, const RowPositions& positions) const;

  // x(n, dim) -> (n, dim). The rows of segment i of `queries` attend to segment i of the memory.
  Var operator()(const Var& x, const Segments& queries, const RowPositions& positions,
                 const AttentionMemory& memory) const;

 private:
  // The input of out_proj.
  Var attend(const Var& x, const Segments& queries, const RowPositions& positions, const AttentionMemory& memory) const;

  std::string name_;
  LinearLayer q_proj_, kv_proj_, out_proj_;
  AttentionOptions options_;
};

}  // namespace gyre
