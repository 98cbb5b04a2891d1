#include "gyre/models/modules/layers.h"

#include <algorithm>
#include <cmath>

#include "gyre/models/modules/linear_attention.h"

namespace gyre {

LinearLayer::LinearLayer(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Init& weight,
                         bool has_bias)
    : weight_(&parameters.add(name + ".weight", {out, in}, weight)) {
  weight_->matrix_rows = {out};
  if (has_bias) bias_ = &parameters.add(name + ".bias", {out}, Init::constant(0), /*decay=*/false);
}

Var LinearLayer::operator()(const Var& x) const {
  if (!weight_->adapters.empty()) return adapted(x, 0, weight_->shape[0]);
  return linear(x, x.tape().parameter(*weight_), bias(x.tape()));
}

Var LinearLayer::columns(const Var& x, int64_t first, int64_t count) const {
  if (!weight_->adapters.empty()) return adapted(x, first, count);
  return linear(x, x.tape().parameter(*weight_), bias(x.tape()), first, count);
}

Var LinearLayer::activated(const Var& x, Activation kind, double rate) const {
  if (!weight_->adapters.empty()) return dropout(activation(adapted(x, 0, weight_->shape[0]), kind), rate);
  return linear_activation(x, x.tape().parameter(*weight_), bias(x.tape()), kind, rate);
}

// Columns first .. first + count - 1 of y, in parts that each have one adapter or none.
Var LinearLayer::adapted(const Var& x, int64_t first, int64_t count) const {
  Tape& tape = x.tape();
  std::vector<Var> parts;
  for (int64_t at = first, end = first + count; at < first + count; at = end, end = first + count) {
    const LowRankAdapter* adapter = nullptr;
    for (const LowRankAdapter& each : weight_->adapters) {
      const int64_t last = each.first + each.rows;
      if (each.first <= at && at < last) adapter = &each;
      for (const int64_t limit : {each.first, last})
        if (limit > at) end = std::min(end, limit);
    }
    Var part = linear(x, tape.parameter(*weight_), bias(tape), at, end - at);
    if (adapter != nullptr) {
      const Var low = scale(linear(dropout(x, adapter->dropout), tape.parameter(*adapter->a)), adapter->scale);
      part = add(part, linear(low, tape.parameter(*adapter->b), {}, at - adapter->first, end - at));
    }
    parts.push_back(std::move(part));
  }
  return parts.size() == 1 ? parts.front() : concat(parts, 1);
}

NormLayer::NormLayer(Parameters& parameters, const std::string& name, int64_t dim, NormType type, bool has_bias,
                     double epsilon)
    : gamma_(&parameters.add(name + ".weight", {dim}, Init::constant(1), /*decay=*/false)),
      type_(type),
      epsilon_(epsilon) {
  if (type == NormType::layer && has_bias)
    beta_ = &parameters.add(name + ".bias", {dim}, Init::constant(0), /*decay=*/false);
}

NormLayer::NormLayer(Parameters& parameters, const std::string& name, const LayerConfig& c)
    : NormLayer(parameters, name, c.dim, c.norm_type, c.biases != Biases::none, c.layer_norm_epsilon) {}

Var NormLayer::operator()(const Var& x) const {
  const Var gamma = x.tape().parameter(*gamma_);
  return type_ == NormType::rms ? rms_norm(x, gamma, epsilon_) : layer_norm(x, gamma, beta(x.tape()), epsilon_);
}

Var NormLayer::after_residual(const Var& residual, const Var& x, double dropout) const {
  if (type_ == NormType::rms || !beta_) return (*this)(residual_dropout(residual, x, dropout));
  return residual_layer_norm(residual, x, dropout, x.tape().parameter(*gamma_), beta(x.tape()), epsilon_);
}

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
  RopeShape shape = positions.rotation.shape;
  shape.heads = int(heads);
  x.kernels().rope({x.value()}, {x.value()}, positions.positions, positions.rotation.angles, shape, width, false);
}

bool rotates_values(const RowPositions& positions) {
  return positions.rotation && positions.encoding != nullptr && positions.encoding->rotates_values();
}

// Values of `heads` heads, rotated if the encoding does that.
Var turned_values(const Var& v, const RowPositions& positions, int heads) {
  if (!rotates_values(positions)) return v;
  Rope rotation = positions.rotation;
  rotation.shape.heads = heads;
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
  const PositionTerms terms = terms_of(x, positions, layer_, /*causal=*/true);
  AttentionCall call{.queries = cache.chunk(),
                     .keys = cache.rows(),
                     .shape = {.heads = options_.heads,
                               .kv_heads = options_.kv_heads,
                               .scale = terms.score_scale(width),
                               .causal = true,
                               .window = std::min(window_of(attention_, true), cache.reach()),
                               .dropout = {}},
                     .terms = terms.tables()};
  if (cache.keys() == TokenCache::Keys::rotated) {
    rotate_heads(q, positions, options_.heads, width);
    rotate_heads(k, positions, options_.kv_heads, width);
  } else if (positions.rotation) {
    call.rope = positions.rotation.shape;
    call.angles = positions.rotation.angles;
    call.query_positions = positions.positions;
    call.key_positions = cache.row_positions();
  }
  if (rotates_values(positions)) rotate_heads(v, positions, options_.kv_heads, width);
  const auto& [keys, values] = cache.extend(layer_, k.value(), v.value());
  for (int text = 0; terms.pos_queries && text < cache.texts(); ++text) {
    require(cache.rows().length(text) == cache.length(text), "[token cache] expected all ", cache.length(text),
            " rows of text ", text, ", by whose positions the encoding adds terms, got ", cache.rows().length(text));
  }
  call.q = {q.value()};
  call.k = {keys};
  call.v = {values};
  const Tensor out = q.value().like();
  x.kernels().attention(out, {}, call);
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

ResidualBranch::ResidualBranch(Parameters& parameters, const std::string& norm_name, const LayerConfig& c)
    : norm_(parameters, norm_name, c), placement_(c.norm), dropout_(c.dropout) {}

FeedForward::FeedForward(Parameters& parameters, const std::string& parent, const LayerConfig& c)
    : gated_(c.gated_ffn),
      fc1_(parameters, parent + ".fc1", c.dim, gated_ ? 2 * c.ffn : c.ffn, c.initial_weight(c.dim, c.ffn),
           c.has_biases()),
      fc2_(parameters, parent + ".fc2", c.ffn, c.dim, c.initial_residual_weight(c.ffn, c.dim), c.has_biases()),
      activation_(c.activation),
      dropout_(c.activation_dropout) {
  if (gated_) fc1_.set_matrices({c.ffn, c.ffn});
}

Var FeedForward::operator()(const Var& x) const {
  const Tape::Scope scope(x.tape(), "ffn");
  if (gated_) return fc2_(dropout(gated_activation(fc1_(x), activation_), dropout_));
  return fc2_(fc1_.activated(x, activation_, dropout_));
}

static std::string layer_name(int index) { return "layers." + std::to_string(index); }

EncoderLayer::EncoderLayer(Parameters& parameters, const std::string& stack, int index, const LayerConfig& c)
    : name_(layer_name(index)),
      self_attention_(parameters, stack + "." + name_, "self_attn", index, c),
      self_branch_(parameters, stack + "." + name_ + ".self_attn_layer_norm", c),
      feed_forward_(parameters, stack + "." + name_, c),
      parallel_(c.residual_form != ResidualForm::sequential) {
  if (c.residual_form != ResidualForm::shared_norm)
    feed_forward_branch_.emplace(parameters, stack + "." + name_ + ".final_layer_norm", c);
}

// attend(h): the self-attention of h.
template <class Attend>
Var EncoderLayer::run(const Var& x, const Attend& attend) const {
  if (!parallel_) return (*feed_forward_branch_)(self_branch_(x, attend), feed_forward_);
  const Var normalized = self_branch_.norm(x);
  const Var attended = self_branch_.add(x, attend(normalized));
  return self_branch_.add(attended, feed_forward_(feed_forward_branch_ ? feed_forward_branch_->norm(x) : normalized));
}

Var EncoderLayer::operator()(const Var& x, const Segments& source, const RowPositions& positions, bool causal) const {
  const Tape::Scope scope(x.tape(), name_);
  return x.tape().checkpoint(Recompute::block, [=, this] {
    return run(x, [&](const Var& h) { return self_attention_(h, source, positions, causal); });
  });
}

Var EncoderLayer::advance(const Var& x, const RowPositions& positions, TokenCache& cache) const {
  const Tape::Scope scope(x.tape(), name_);
  return run(x, [&](const Var& h) { return self_attention_.advance(h, positions, cache); });
}

std::optional<NormLayer> make_final_norm(Parameters& parameters, const std::string& stack, const ModelConfig& c) {
  if (c.norm != NormPlacement::pre || !c.final_norm) return {};
  return NormLayer(parameters, stack + ".layer_norm", c);
}

DecoderLayer::DecoderLayer(Parameters& parameters, const std::string& stack, int index, const LayerConfig& c)
    : name_(layer_name(index)),
      self_attention_(parameters, stack + "." + name_, "self_attn", index, c),
      self_branch_(parameters, stack + "." + name_ + ".self_attn_layer_norm", c),
      cross_attention_(parameters, stack + "." + name_, "encoder_attn", c),
      cross_branch_(parameters, stack + "." + name_ + ".encoder_attn_layer_norm", c),
      feed_forward_(parameters, stack + "." + name_, c),
      feed_forward_branch_(parameters, stack + "." + name_ + ".final_layer_norm", c) {}

// attend(h): the self-attention of h.
template <class Attend>
Var DecoderLayer::run(const Var& x, const DecoderRows& rows, const AttentionMemory& source,
                      const Attend& attend) const {
  const Var attended = cross_branch_(self_branch_(x, attend), [&](const Var& h) {
    return cross_attention_(h, rows.by_sentence, rows.cross_positions, source);
  });
  return feed_forward_branch_(attended, feed_forward_);
}

Var DecoderLayer::operator()(const Var& x, const DecoderRows& rows, const Var& encoded, const Segments& source,
                             const RowPositions& source_positions) const {
  const Tape::Scope scope(x.tape(), name_);
  return x.tape().checkpoint(Recompute::block, [=, this] {
    return run(x, rows, cross_attention_.project(encoded, source, source_positions),
               [&](const Var& h) { return self_attention_(h, rows.segments, rows.positions, /*causal=*/true); });
  });
}

AttentionMemory DecoderLayer::project_source(const Var& encoded, const Segments& source,
                                             const RowPositions& positions) const {
  const Tape::Scope scope(encoded.tape(), name_);
  return cross_attention_.project_rotated(encoded, source, positions);
}

Var DecoderLayer::step(const Var& x, const DecoderRows& rows, const AttentionMemory& source,
                       KeyValueCache& cache) const {
  const Tape::Scope scope(x.tape(), name_);
  return run(x, rows, source, [&](const Var& h) { return self_attention_.step(h, rows.positions, cache); });
}

}  // namespace gyre
