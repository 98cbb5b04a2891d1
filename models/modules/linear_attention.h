// Attention in time and memory linear in the length of the text (Katharopoulos et al. 2020): weights are products of
// positive features of queries and keys, so a row needs only sums over the keys and values.
//   out_m = [sum_n (R_m phi(q_m)) . (R_n psi(k_n)) v_n] / [sum_n phi(q_m) . psi(k_n) + 1e-6]
// R is the rotation by the row's position (Su et al. 2021, eq. 19). With LinearRope::pre_map it is applied to q and k
// before the feature maps instead, in both sums. If causal, n <= m.
#pragma once

#include <vector>

#include "gyre/models/config/config.h"
#include "gyre/models/modules/cache.h"

namespace gyre {

struct LinearAttentionOptions {
  int heads = 1;
  bool causal = false;
  FeatureMap map = FeatureMap::elu;
  LinearRope rope = LinearRope::post_map;
  Rope rotation = {};     // empty: no rotation
  Tensor positions = {};  // positions of the rows, i32: for the rotation
};

// q, k, v(n, dim) -> (n, dim). random_vectors(features, head width) is for FAVOR+; otherwise it is empty.
Var linear_attention(const Var& q, const Var& k, const Var& v, const Var& random_vectors, const Segments& segments,
                     const LinearAttentionOptions& options);

// linear_attention() for the next chunk of texts whose earlier rows are sums: row i of q, k and v is a row of `chunk`,
// which has a segment for each state, and attends to itself and to all earlier rows of its text. Adds the rows to the
// states. Records nothing.
Var advance_linear_attention(const Var& q, const Var& k, const Var& v, const Var& random_vectors, const Segments& chunk,
                             std::vector<LinearState>& states, const LinearAttentionOptions& options);

// Registers the parameter parent.random_vectors(features, width), which is not trained.
Parameter& add_random_vectors(Parameters& parameters, const std::string& parent, const AttentionConfig& config,
                              int64_t width);

// Redraws the random vectors of a model at a fixed interval of updates. The vectors are a pure function of the seed and
// the number of the update, so a resumed run continues with the same vectors.
class RandomVectorRedraw {
 public:
  explicit RandomVectorRedraw(const AttentionConfig& config);
  // Call before each update; the first update has number 0.
  void before_update(Parameters& parameters, uint64_t seed, uint64_t update);

 private:
  uint64_t interval_;   // number of updates; 0: never
  uint64_t drawn_ = 0;  // number of the current draw; draw 0 is the initial value
};

}  // namespace gyre
