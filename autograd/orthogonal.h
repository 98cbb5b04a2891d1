// Random vectors that are orthogonal in blocks, for random features with less variance than independent ones.
#pragma once

#include <cstdint>
#include <vector>

namespace gyre {

// (count, width): blocks of `width` rows, orthogonal to one another and uniformly distributed, the last block perhaps
// cut; each as long as a standard normal vector. A pure function of its arguments.
std::vector<double> orthogonal_normal_rows(int64_t count, int64_t width, uint64_t seed, uint64_t stream);

}  // namespace gyre
