// Attention in time and memory linear in the length (Katharopoulos et al. 2020): weights are products of positive
// features of queries and keys, so that a row needs no more of the keys than their sums.
//   out_m = [sum_n (R_m phi(q_m)) . (R_n psi(k_n)) v_n] / [sum_n phi(q_m) . psi(k_n) + 1e-6]
// R is the rotation by the row's position (Su et al. 2021, eq. 19); before the map it would turn q and k instead, and
// both sums. Causal: n <= m.
#pragma once

#include "models/config.h"

namespace gyre {

struct LinearAttentionOptions {
  int heads = 1;
  bool causal = false;
  FeatureMap map = FeatureMap::elu;
  LinearRope rope = LinearRope::post_map;
  Rotation rotation = {};  // none: nothing turns
  Tensor positions = {};   // for the rotation, i32, of each row
};

// q, k, v(n, dim) -> (n, dim). random_vectors(features, head width): of FAVOR+, else empty.
Var linear_attention(const Var& q, const Var& k, const Var& v, const Var& random_vectors, const Segments& segments,
                     const LinearAttentionOptions& options);

// Registers parent.random_vectors(features, width), which nothing trains.
Parameter& add_random_vectors(Parameters& parameters, const std::string& parent, const AttentionConfig& config,
                              int64_t width);

// Draws the random vectors of a model anew every so many updates. What they are is a pure function of the seed and of
// the number of the update, so that a run that was cut goes on as it would have.
class RandomVectorRedraw {
 public:
  explicit RandomVectorRedraw(const AttentionConfig& config);
  // Before each update, the first being number 0.
  void before_update(Parameters& parameters, uint64_t seed, uint64_t update);

 private:
  uint64_t interval_;   // 0: never
  uint64_t drawn_ = 0;  // draws that this process knows to be done; the first is the initial value
};

}  // namespace gyre
