// Multi-head attention (Vaswani et al. 2017, 3.2.2) over packed segments. Projections of the same rows are one product.
#pragma once

#include <string>

#include "models/config.h"
#include "models/modules/key_value_cache.h"
#include "models/modules/key_value_window.h"
#include "models/modules/linear.h"

namespace gyre {

// Queries, keys and values from the same rows.
class SelfAttention {
 public:
  // Registers parent.name.{qkv,out}_proj; qkv_proj gives [queries | keys | values]. `layer`: its number in the stack.
  // With FAVOR+ also parent.name.random_vectors.
  SelfAttention(Parameters& parameters, const std::string& parent, const std::string& name, int layer,
                const LayerConfig& config);

  // x(n, dim) -> (n, dim), each segment attending to itself. Causal: a row sees itself and those before it.
  Var operator()(const Var& x, const Segments& segments, const RowPositions& positions, bool causal) const;

  // Decoding: the next token of each hypothesis, x(rows, dim), attends to those in the cache and to itself. Its key and
  // value are stored there. Records nothing.
  Var step(const Var& x, const RowPositions& positions, KeyValueCache& cache) const;

  // Reading in chunks, x(n, dim) the next one: its rows see themselves and those before them that the window reaches.
  // `positions` are those of the rows kept and of the chunk. Records nothing.
  Var stream(const Var& x, const RowPositions& positions, KeyValueWindow& window) const;

 private:
  Var attend_linearly(const Var& x, const Segments& segments, const RowPositions& positions, bool causal) const;

  std::string name_;
  int layer_;
  LinearLayer qkv_proj_, out_proj_;
  AttentionOptions options_;
  AttentionConfig attention_;
  Parameter* random_vectors_ = nullptr;  // (features, head width) of FAVOR+: drawn, not trained
};

// What the queries of a cross-attention attend to.
struct AttentionMemory {
  Var keys_values;  // (rows of the segments, 2 * dim)
  Segments segments;
  Tensor positions;  // of the rows; none when the keys do not turn, or are turned already
};

// Queries from other rows than keys and values.
class CrossAttention {
 public:
  // Registers parent.name.{q,kv,out}_proj; kv_proj gives [keys | values].
  CrossAttention(Parameters& parameters, const std::string& parent, const std::string& name, const LayerConfig& config);

  AttentionMemory project(const Var& x, const Segments& segments, const RowPositions& positions) const;
  // The same with the keys turned once for the many queries of decoding. Records nothing.
  AttentionMemory project_turned(const Var& x, const Segments& segments, const RowPositions& positions) const;

  // x(n, dim), segment i of `queries` attending to segment i of the memory -> (n, dim).
  Var operator()(const Var& x, const Segments& queries, const RowPositions& positions,
                 const AttentionMemory& memory) const;

 private:
  std::string name_;
  LinearLayer q_proj_, kv_proj_, out_proj_;
  AttentionOptions options_;
};

}  // namespace gyre
