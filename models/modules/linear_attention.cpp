#include "gyre/models/modules/linear_attention.h"

#include "gyre/core/random.h"

namespace gyre {
namespace {

constexpr double kEpsilon = 1e-6;

Var features_of(const Var& x, FavorSide side, const Var& random_vectors, const LinearAttentionOptions& o) {
  switch (o.map) {
    case FeatureMap::elu:
      return activation(x, Activation::elu_plus_one);
    case FeatureMap::relu:
      return activation(x, Activation::relu_plus);
    case FeatureMap::softmax:
      return side == FavorSide::queries ? head_softmax(x, o.heads) : activation(x, Activation::bounded_exp);
    case FeatureMap::favor:
      return favor_features(head_matmul(x, random_vectors, o.heads), x, o.heads, side);
  }
  throw Error("[linear attention] unknown feature map");
}

}  // namespace

Var linear_attention(const Var& q, const Var& k, const Var& v, const Var& random_vectors, const Segments& segments,
                     const LinearAttentionOptions& o) {
  const auto turned = [&](const Var& x, LinearRope place) {
    return o.rotation && o.rope == place ? rope(x, o.rotation, o.positions) : x;
  };
  const Var query = features_of(turned(q, LinearRope::pre_map), FavorSide::queries, random_vectors, o);
  const Var key = features_of(turned(k, LinearRope::pre_map), FavorSide::keys, random_vectors, o);
  const ScanDirection direction = o.causal ? ScanDirection::before : ScanDirection::all;
  const Var numerator = linear_attention_scan(turned(query, LinearRope::post_map), turned(key, LinearRope::post_map), v,
                                              segments, o.heads, direction);
  return head_divide(numerator, linear_attention_scan(query, key, {}, segments, o.heads, direction), kEpsilon);
}

Parameter& add_random_vectors(Parameters& parameters, const std::string& parent, const AttentionConfig& config,
                              int64_t width) {
  Parameter& vectors = parameters.add(parent + ".random_vectors", {config.features(width), width},
                                      Init::orthogonal_normal(), /*decay=*/false);
  vectors.trainable = false;
  return vectors;
}

RandomVectorRedraw::RandomVectorRedraw(const AttentionConfig& config)
    : interval_(config.uses_favor() ? uint64_t(config.favor_redraw) : 0) {}

void RandomVectorRedraw::before_update(Parameters& parameters, uint64_t seed, uint64_t update) {
  const uint64_t draw = interval_ > 0 ? update / interval_ : 0;
  if (draw == drawn_) return;
  drawn_ = draw;
  for (Parameter& p : parameters) {
    if (p.init.kind == Init::Kind::orthogonal_normal) draw_initial_value(p, mix(seed, draw));
  }
}

}  // namespace gyre
