// Teams and blocks of the CUDA kernels of layer norm, for the kernels (core/cuda/row_teams.h, layer_norm_backward.cu)
// and for the virtual GPU (core/virtual_gpu).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace gyre {

// A team of `warps` warps processes a row. Each thread holds `parts` packs of it.
struct NormTeam {
  int warps, parts;
  // The packs of a row that a thread of each warp can hold together.
  constexpr int64_t capacity() const { return int64_t(warps) * parts; }
  // The teams of a block, which has at least 8 warps.
  constexpr int64_t teams() const { return warps < 8 ? 8 / warps : 1; }
};

// From narrow to wide rows.
inline constexpr std::array<NormTeam, 7> kNormTeams{{{1, 1}, {1, 2}, {2, 2}, {4, 2}, {8, 2}, {16, 2}, {32, 4}}};

// The index of the narrowest team for rows of d elements in packs of `pack` elements; kNormTeams.size() if no team is
// wide enough.
constexpr size_t norm_team(int64_t d, int64_t pack) {
  constexpr int64_t kWarp = 32;
  size_t i = 0;
  while (i < kNormTeams.size() && kNormTeams[i].capacity() * kWarp * pack < d) ++i;
  return i;
}

// The blocks of the backward pass: enough to fill a large GPU. Their number, and with it the order of sums, depends
// only on the rows.
constexpr int64_t norm_gradient_blocks(int64_t rows, int64_t teams) {
  return std::min<int64_t>(528, (rows + teams - 1) / teams);
}

// The number of vectors that each block of the backward pass sums: those of gamma and beta come together, that of the
// bias comes with both.
constexpr int norm_gradient_sums(bool parameters, bool bias) { return bias ? 3 : parameters ? 2 : 0; }

}  // namespace gyre
