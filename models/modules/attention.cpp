#include "gyre/models/modules/attention.h"

#include <algorithm>
#include <cmath>

#include "gyre/models/modules/linear_attention.h"

namespace gyre {
namespace {

AttentionOptions attention_options(const LayerConfig& c) {
  return {.heads = int(c.heads), .kv_heads = int(c.key_heads()), .dropout = c.attention_dropout};
}

// The largest distance between a row and the keys that it attends to.
int64_t window_of(const AttentionConfig& c, bool causal) {
  if (c.kind != AttentionKind::window) return AttentionShape::kUnlimited;
  return causal ? c.window - 1 : c.window / 2;
}

PositionTerms terms_of(const Var& x, const RowPositions& positions, int layer, bool causal) {
  if (!positions.encoding) return {};
  const Tape::Scope scope(x.tape(), "position");
  const auto lock = positions.encoding->lock();
  return positions.encoding->terms(x.tape(), {layer, positions.longest, causal, statistics_dtype(x.value().dtype())});
}

// Rotates the first `heads` heads of each row of x in place; each has `width` features.
void rotate_heads(const Var& x, const RowPositions& positions, int64_t heads, int64_t width) {
  if (!positions.rotation) return;
  require(!x.tape().recording(), "[attention] expected a tape that does not record for decoding");
  Rotary rotary = positions.rotation.rotary;
  rotary.heads = int(heads);
  x.kernels().rope({x.value()}, {x.value()}, positions.positions, positions.rotation.angles, rotary, width, false);
}

bool rotates_values(const RowPositions& positions) {
  return positions.rotation && positions.encoding != nullptr && positions.encoding->rotates_values();
}

// Values of `heads` heads, rotated if the encoding does that.
Var turned_values(const Var& v, const RowPositions& positions, int heads) {
  if (!rotates_values(positions)) return v;
  Rotation rotation = positions.rotation;
  rotation.rotary.heads = heads;
  return rope(v, rotation, positions.positions);
}

}  // namespace

SelfAttention::SelfAttention(Parameters& parameters, const std::string& parent, const std::string& name, int layer,
                             const LayerConfig& c)
    : name_(name),
      layer_(layer),
      dim_(c.query_dim()),
      key_dim_(c.key_dim()),
      qkv_proj_(parameters, parent + "." + name + ".qkv_proj", c.dim, dim_ + 2 * key_dim_,
                c.initial_weight(c.dim, dim_ + 2 * key_dim_), c.biases != Biases::none),
      out_proj_(parameters, parent + "." + name + ".out_proj", dim_, c.dim, c.initial_residual_weight(dim_, c.dim),
                c.has_biases()),
      options_(attention_options(c)),
      attention_(c.attention) {
  qkv_proj_.set_matrices({dim_, key_dim_, key_dim_});
  const auto head_norm = [&](const char* of) {
    return NormLayer(parameters, parent + "." + name + of, c.head_width(), NormType::rms, false, c.layer_norm_epsilon);
  };
  if (c.qk_norm) {
    q_norm_ = head_norm(".q_norm");
    k_norm_ = head_norm(".k_norm");
  }
  if (attention_.uses_favor())
    random_vectors_ = &add_random_vectors(parameters, parent + "." + name, attention_, c.head_width());
}

Var SelfAttention::operator()(const Var& x, const Segments& segments, const RowPositions& positions,
                              bool causal) const {
  const Tape::Scope scope(x.tape(), name_);
  return out_proj_(
      x.tape().checkpoint(Recompute::attention, [=, this] { return attend(x, segments, positions, causal); }));
}

Var SelfAttention::attend(const Var& x, const Segments& segments, const RowPositions& positions, bool causal) const {
  if (attention_.kind == AttentionKind::linear) return attend_linearly(x, segments, positions, causal);
  AttentionOptions options = options_;
  options.causal = causal;
  options.rotation = positions.rotation;
  options.query_positions = positions.positions;
  options.window = window_of(attention_, causal);
  options.terms = terms_of(x, positions, layer_, causal);
  if (!q_norm_ && !rotates_values(positions)) return self_attention(qkv_proj_(x), segments, options);
  options.key_positions = positions.positions;
  const auto [q, k, v] = project(x);
  return attention(q, k, turned_values(v, positions, options_.kv_heads), segments, segments, options);
}

SelfAttention::Projections SelfAttention::project(const Var& x) const {
  Projections all{qkv_proj_.columns(x, 0, dim_), qkv_proj_.columns(x, dim_, key_dim_),
                  qkv_proj_.columns(x, dim_ + key_dim_, key_dim_)};
  if (q_norm_) all.q = (*q_norm_)(all.q);
  if (k_norm_) all.k = (*k_norm_)(all.k);
  return all;
}

Var SelfAttention::attend_linearly(const Var& x, const Segments& segments, const RowPositions& positions, bool causal,
                                   TokenCache* cache) const {
  const LinearAttentionOptions options{.heads = options_.heads,
                                       .causal = causal,
                                       .map = attention_.linear_map,
                                       .rope = attention_.linear_rope,
                                       .rotation = positions.rotation,
                                       .positions = positions.positions};
  const Var vectors = random_vectors_ ? x.tape().parameter(*random_vectors_) : Var();
  const auto [q, k, raw_values] = project(x);
  const Var v = turned_values(raw_values, positions, options_.kv_heads);
  if (cache == nullptr) return linear_attention(q, k, v, vectors, segments, options);
  return advance_linear_attention(q, k, v, vectors, segments, cache->linear_states(layer_), options);
}

Var SelfAttention::step(const Var& x, const RowPositions& positions, KeyValueCache& cache) const {
  const Tape::Scope scope(x.tape(), name_);
  const Var qkv = qkv_proj_(x);
  const int64_t dim = x.shape()[1];
  // Queries and keys, and values too if the encoding rotates them.
  rotate_heads(qkv, positions, (rotates_values(positions) ? 3 : 2) * options_.heads, dim / options_.heads);
  x.tape().count_flops(4 * double(x.shape()[0]) * double(cache.length()) * double(dim));
  cache.set_terms(layer_, dim / options_.heads, [&](int64_t longest) {
    RowPositions later = positions;
    later.longest = std::min(longest, positions.encoding->longest());
    return terms_of(x, later, layer_, /*causal=*/true);
  });
  return out_proj_(x.tape().constant(cache.attend(x.kernels(), layer_, qkv.value(), options_.heads)));
}

Var SelfAttention::advance(const Var& x, const RowPositions& positions, TokenCache& cache) const {
  const Tape::Scope scope(x.tape(), name_);
  if (attention_.kind == AttentionKind::linear)
    return out_proj_(attend_linearly(x, cache.chunk(), positions, /*causal=*/true, &cache));
  const auto [q, k, v] = project(x);
  const int64_t width = dim_ / options_.heads;
  AttentionRotation rotation;
  if (cache.keys() == TokenCache::Keys::rotated) {
    rotate_heads(q, positions, options_.heads, width);
    rotate_heads(k, positions, options_.kv_heads, width);
  } else if (positions.rotation) {
    rotation = {positions.rotation.rotary, positions.rotation.angles, positions.positions, cache.row_positions()};
  }
  if (rotates_values(positions)) rotate_heads(v, positions, options_.kv_heads, width);
  const auto& [keys, values] = cache.extend(layer_, k.value(), v.value());
  const PositionTerms terms = terms_of(x, positions, layer_, /*causal=*/true);
  const AttentionShape shape{.heads = options_.heads,
                             .kv_heads = options_.kv_heads,
                             .scale = terms.score_scale(width),
                             .causal = true,
                             .window = std::min(window_of(attention_, true), cache.reach()),
                             .dropout = {}};
  for (int text = 0; terms.pos_queries && text < cache.texts(); ++text) {
    require(cache.rows().length(text) == cache.length(text), "[token cache] expected all ", cache.length(text),
            " rows of text ", text, ", by whose positions the encoding adds terms, got ", cache.rows().length(text));
  }
  const Tensor out = q.value().like();
  x.kernels().attention(out, {}, {q.value()}, {keys}, {values}, cache.chunk(), cache.rows(), shape, rotation,
                        terms.values());
  for (int text = 0; text < cache.texts(); ++text)
    x.tape().count_flops(4 * double(cache.chunk().length(text)) * double(cache.rows().length(text)) * double(dim_));
  return out_proj_(x.tape().constant(out));
}

// The gains are those of fairseq, which initializes queries, keys and values like one matrix (3 dim, dim).
CrossAttention::CrossAttention(Parameters& parameters, const std::string& parent, const std::string& name,
                               const LayerConfig& c)
    : name_(name),
      q_proj_(parameters, parent + "." + name + ".q_proj", c.dim, c.dim,
              c.initial_weight(c.dim, c.dim, std::sqrt(1.0 / 2))),
      kv_proj_(parameters, parent + "." + name + ".kv_proj", c.dim, 2 * c.dim,
               c.initial_weight(c.dim, 2 * c.dim, std::sqrt(3.0 / 4))),
      out_proj_(parameters, parent + "." + name + ".out_proj", c.dim, c.dim, c.initial_weight(c.dim, c.dim)),
      options_(attention_options(c)) {
  kv_proj_.set_matrices({c.dim, c.dim});
}

AttentionMemory CrossAttention::project(const Var& x, const Segments& segments, const RowPositions& positions) const {
  const Tape::Scope scope(x.tape(), name_);
  return {kv_proj_(x), segments, positions.positions};
}

AttentionMemory CrossAttention::project_rotated(const Var& x, const Segments& segments,
                                                const RowPositions& positions) const {
  const Tape::Scope scope(x.tape(), name_);
  const Var keys_values = kv_proj_(x);
  rotate_heads(keys_values, positions, options_.heads, x.shape()[1] / options_.heads);
  return {keys_values, segments, {}};
}

Var CrossAttention::operator()(const Var& x, const Segments& queries, const RowPositions& positions,
                               const AttentionMemory& memory) const {
  const Tape::Scope scope(x.tape(), name_);
  return out_proj_(
      x.tape().checkpoint(Recompute::attention, [=, this] { return attend(x, queries, positions, memory); }));
}

Var CrossAttention::attend(const Var& x, const Segments& queries, const RowPositions& positions,
                           const AttentionMemory& memory) const {
  AttentionOptions options = options_;
  Var q = q_proj_(x);
  if (positions.rotation && memory.positions) {
    options.rotation = positions.rotation;
    options.query_positions = positions.positions;
    options.key_positions = memory.positions;
  } else if (positions.rotation) {
    q = rope(q, positions.rotation, positions.positions);
  }
  return attention(q, memory.keys_values, queries, memory.segments, options);
}

}  // namespace gyre
