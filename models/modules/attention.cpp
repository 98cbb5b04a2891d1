#include "models/modules/attention.h"

#include <cmath>

namespace gyre {
namespace {

AttentionOptions attention_options(const LayerConfig& c) {
  return {.heads = int(c.heads), .dropout = c.attention_dropout};
}

// In place: the first `heads` heads of each row of x, each `width` features wide.
void turn_heads(const Var& x, const RowPositions& positions, int64_t heads, int64_t width) {
  if (!positions.rotation) return;
  require(!x.tape().recording(), "[attention] a tape that records must not decode");
  Rotary rotary = positions.rotation.rotary;
  rotary.heads = int(heads);
  x.kernels().rope({x.value()}, {x.value()}, positions.positions, positions.rotation.angles, rotary, width, false);
}

}  // namespace

SelfAttention::SelfAttention(Parameters& parameters, const std::string& parent, const std::string& name,
                             const LayerConfig& c)
    : name_(name),
      qkv_proj_(parameters, parent + "." + name + ".qkv_proj", c.dim, 3 * c.dim, c.initial_weight(c.dim, 3 * c.dim)),
      out_proj_(parameters, parent + "." + name + ".out_proj", c.dim, c.dim, c.initial_weight(c.dim, c.dim)),
      options_(attention_options(c)) {}

Var SelfAttention::operator()(const Var& x, const Segments& segments, const RowPositions& positions,
                              bool causal) const {
  const Tape::Scope scope(x.tape(), name_);
  AttentionOptions options = options_;
  options.causal = causal;
  options.rotation = positions.rotation;
  options.query_positions = positions.positions;
  return out_proj_(self_attention(qkv_proj_(x), segments, options));
}

Var SelfAttention::step(const Var& x, const RowPositions& positions, KeyValueCache& cache, int layer) const {
  const Tape::Scope scope(x.tape(), name_);
  const Var qkv = qkv_proj_(x);
  const int64_t dim = x.shape()[1];
  turn_heads(qkv, positions, 2 * options_.heads, dim / options_.heads);  // queries and keys
  x.tape().count_flops(4 * double(x.shape()[0]) * double(cache.length()) * double(dim));
  return out_proj_(x.tape().constant(cache.attend(x.kernels(), layer, qkv.value(), options_.heads)));
}

// The gains are those of fairseq, where queries, keys and values start as one matrix (3 dim, dim) would.
CrossAttention::CrossAttention(Parameters& parameters, const std::string& parent, const std::string& name,
                               const LayerConfig& c)
    : name_(name),
      q_proj_(parameters, parent + "." + name + ".q_proj", c.dim, c.dim,
              c.initial_weight(c.dim, c.dim, std::sqrt(1.0 / 2))),
      kv_proj_(parameters, parent + "." + name + ".kv_proj", c.dim, 2 * c.dim,
               c.initial_weight(c.dim, 2 * c.dim, std::sqrt(3.0 / 4))),
      out_proj_(parameters, parent + "." + name + ".out_proj", c.dim, c.dim, c.initial_weight(c.dim, c.dim)),
      options_(attention_options(c)) {}

AttentionMemory CrossAttention::project(const Var& x, const Segments& segments, const RowPositions& positions) const {
  const Tape::Scope scope(x.tape(), name_);
  return {kv_proj_(x), segments, positions.positions};
}

AttentionMemory CrossAttention::project_turned(const Var& x, const Segments& segments,
                                               const RowPositions& positions) const {
  const Tape::Scope scope(x.tape(), name_);
  const Var keys_values = kv_proj_(x);
  turn_heads(keys_values, positions, options_.heads, x.shape()[1] / options_.heads);
  return {keys_values, segments, {}};
}

Var CrossAttention::operator()(const Var& x, const Segments& queries, const RowPositions& positions,
                               const AttentionMemory& memory) const {
  const Tape::Scope scope(x.tape(), name_);
  AttentionOptions options = options_;
  Var q = q_proj_(x);
  if (positions.rotation && memory.positions) {
    options.rotation = positions.rotation;
    options.query_positions = positions.positions;
    options.key_positions = memory.positions;
  } else if (positions.rotation) {
    q = rope(q, positions.rotation, positions.positions);
  }
  return out_proj_(attention(q, memory.keys_values, queries, memory.segments, options));
}

}  // namespace gyre
