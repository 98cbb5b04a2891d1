// Random vectors that are orthogonal within blocks, for random features (FAVOR+) of lower variance than with
// independent vectors.
#pragma once

#include <cstdint>
#include <vector>

namespace gyre {

// (count, width) in row-major order. The rows form blocks of `width`, the last possibly shorter. The rows of a block
// are orthogonal, with uniformly distributed directions and the lengths of standard normal vectors. A pure function of
// its arguments.
std::vector<double> orthogonal_normal_rows(int64_t count, int64_t width, uint64_t seed, uint64_t stream);

}  // namespace gyre
