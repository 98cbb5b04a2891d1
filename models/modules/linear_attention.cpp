#include "gyre/models/modules/linear_attention.h"

#include <algorithm>

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

// Features of queries and keys for the denominator, and, rotated, for the numerator.
struct Features {
  Var query, key, turned_query, turned_key;

  Features(const Var& q, const Var& k, const Var& random_vectors, const LinearAttentionOptions& o) {
    const auto turned = [&](const Var& x, LinearRope place) {
      return o.rotation && o.rope == place ? rope(x, o.rotation, o.positions) : x;
    };
    query = features_of(turned(q, LinearRope::pre_map), FavorSide::queries, random_vectors, o);
    key = features_of(turned(k, LinearRope::pre_map), FavorSide::keys, random_vectors, o);
    turned_query = turned(query, LinearRope::post_map);
    turned_key = turned(key, LinearRope::post_map);
  }
};

Var attend(const Features& f, const Var& v, const Segments& segments, int heads, ScanDirection direction) {
  const Var numerator = linear_attention_scan(f.turned_query, f.turned_key, v, segments, heads, direction);
  return head_divide(numerator, linear_attention_scan(f.query, f.key, {}, segments, heads, direction), kEpsilon);
}

Tensor as_statistics(const Var& x) {
  const Tensor& value = x.value();
  return value.to_cpu().to(statistics_dtype(value.dtype())).to(value.device());
}

// The rows of a chunk in the dtype of the states, and the sums of their texts.
class StateReader {
 public:
  StateReader(const Features& features, const Var& v, int heads)
      : tape_(v.tape()),
        heads_(heads),
        query_(as_statistics(features.query)),
        key_(as_statistics(features.key)),
        turned_query_(as_statistics(features.turned_query)),
        turned_key_(as_statistics(features.turned_key)),
        values_(as_statistics(v)),
        numerators_(values_.like()),
        denominators_(Tensor::empty({values_.dim(0), heads}, values_.dtype(), values_.device())) {}

  void begin(LinearState& state) const {
    const int64_t features = key_.cols() / heads_;
    state.values = Tensor::zeros({values_.cols(), features}, values_.dtype()).to(values_.device());
    state.keys = Tensor::zeros({1, key_.cols()}, values_.dtype()).to(values_.device());
  }

  void add(const LinearState& state, int64_t row) const {
    tape_.kernels().add(state.keys, state.keys, key_.slice(row, row + 1));
    for (int h = 0; h < heads_; ++h) {
      const Tensor sums = of_head(state.values, h);
      tape_.kernels().linear_backward({}, sums, {}, part(values_, row, h), part(turned_key_, row, h), sums, {});
    }
  }

  void read(const LinearState& state, int64_t row) const {
    const Var query = tape_.constant(query_.slice(row, row + 1));
    const Var keys = tape_.constant(state.keys.reshape({key_.cols()}));
    denominators_.slice(row, row + 1).copy_from(head_dot(query, keys, heads_, 1).value());
    for (int h = 0; h < heads_; ++h)
      tape_.kernels().linear(part(numerators_, row, h), part(turned_query_, row, h), of_head(state.values, h), {});
  }

  // Rows first .. last - 1 of the output, after read().
  Tensor output(int64_t first, int64_t last) const {
    const auto rows_of = [&](const Tensor& sums) { return tape_.constant(sums.slice(first, last)); };
    return head_divide(rows_of(numerators_), rows_of(denominators_), kEpsilon).value();
  }

 private:
  Tensor of_head(const Tensor& rows, int h) const {
    const int64_t width = rows.dim(0) / heads_;
    return rows.slice(h * width, (h + 1) * width);
  }
  // The features of a head in a row: (1, width).
  Tensor part(const Tensor& x, int64_t row, int h) const {
    return of_head(x.slice(row, row + 1).reshape({x.cols(), 1}), h).reshape({1, x.cols() / heads_});
  }

  Tape& tape_;
  int heads_;
  Tensor query_, key_, turned_query_, turned_key_, values_, numerators_, denominators_;
};

}  // namespace

Var linear_attention(const Var& q, const Var& k, const Var& v, const Var& random_vectors, const Segments& segments,
                     const LinearAttentionOptions& o) {
  const ScanDirection direction = o.causal ? ScanDirection::before : ScanDirection::all;
  return attend(Features(q, k, random_vectors, o), v, segments, o.heads, direction);
}

// The first chunk of a text, its prompt, is one scan. Later rows read the states, one by one.
Var advance_linear_attention(const Var& q, const Var& k, const Var& v, const Var& random_vectors, const Segments& chunk,
                             std::vector<LinearState>& states, const LinearAttentionOptions& o) {
  const Features features(q, k, random_vectors, o);
  const Kernels& kernels = q.kernels();
  const StateReader reader(features, v, o.heads);
  const bool has_prompts = std::any_of(states.begin(), states.end(), [](const LinearState& s) { return !s.keys; });
  const Tensor out =
      has_prompts ? attend(features, v, chunk, o.heads, ScanDirection::before).value() : v.value().like();
  for (int text = 0; text < chunk.count(); ++text) {
    const int64_t first = chunk.begin(text), last = chunk.end(text);
    if (first == last) continue;
    LinearState& state = states[size_t(text)];
    const bool is_prompt = !state.keys;
    if (is_prompt) reader.begin(state);
    for (int64_t row = first; row < last; ++row) {
      reader.add(state, row);
      if (!is_prompt) reader.read(state, row);
    }
    if (is_prompt) continue;
    const Tensor rows = reader.output(first, last).to_cpu().to(out.dtype()).to(kernels.device());
    out.slice(first, last).copy_from(rows);
  }
  return q.tape().constant(out);
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
