#include "gyre/models/decode/token_sampler.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gyre/core/error.h"
#include "gyre/core/random.h"

namespace gyre {
namespace {

// The smallest number of tokens, most probable first, that hold the share top_p of the probability of all `tokens`.
template <class MoreProbable>
std::vector<int32_t> nucleus(std::span<const float> probabilities, std::vector<int32_t> tokens, double top_p,
                             const MoreProbable& more_probable) {
  double total = 0, mass = 0;
  for (const int32_t id : tokens) total += double(probabilities[size_t(id)]);
  const auto less_probable = [&](int32_t a, int32_t b) { return more_probable(b, a); };
  std::make_heap(tokens.begin(), tokens.end(), less_probable);  // the nucleus is small, so a full sort would be slower
  auto rest = tokens.end();
  while (rest != tokens.begin() && mass < top_p * total) {
    std::pop_heap(tokens.begin(), rest--, less_probable);
    mass += double(probabilities[size_t(*rest)]);
  }
  tokens.erase(tokens.begin(), rest);
  return tokens;
}

}  // namespace

std::vector<int32_t> tokens_to_draw(std::span<const float> probabilities, int top_k, double top_p) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < probabilities.size(); ++i)
    if (probabilities[i] > 0) tokens.push_back(int32_t(i));
  const auto more_probable = [&](int32_t a, int32_t b) {
    const float p = probabilities[size_t(a)], q = probabilities[size_t(b)];
    return p != q ? p > q : a < b;
  };
  if (top_k > 0 && size_t(top_k) < tokens.size()) {
    std::nth_element(tokens.begin(), tokens.begin() + top_k, tokens.end(), more_probable);
    tokens.resize(size_t(top_k));
  }
  if (top_p < 1) tokens = nucleus(probabilities, std::move(tokens), top_p, more_probable);
  return tokens;
}

int32_t draw_token(std::span<const float> probabilities, const std::vector<int32_t>& tokens, uint64_t seed,
                   uint64_t stream, uint32_t step) {
  require(!tokens.empty(), "[sampling] expected a token with a positive probability, found none");
  int32_t best = -1;
  double best_score = -1;
  uint64_t block_number = UINT64_MAX;
  std::array<uint32_t, 4> block{};
  for (const int32_t id : tokens) {
    const uint64_t number = (uint64_t(step) << 32) | (uint64_t(id) / 4);
    if (number != block_number) block = philox(seed, stream, block_number = number);
    const double p = double(probabilities[size_t(id)]), u = (double(block[size_t(id) % 4]) + 0.5) * 0x1p-32;
    if (p < best_score * u) continue;  // u is less than the exponential number: p / E cannot win
    const double score = p / -std::log1p(-u);
    if (score < best_score || (score == best_score && id > best)) continue;
    best = id;
    best_score = score;
  }
  return best;
}

}  // namespace gyre
