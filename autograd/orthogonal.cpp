#include "gyre/autograd/orthogonal.h"

#include <cmath>

#include "gyre/core/random.h"

namespace gyre {
namespace {

double dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void scale(double* a, int64_t n, double factor) {
  for (int64_t i = 0; i < n; ++i) a[i] *= factor;
}

// Gram-Schmidt, applied twice to each row: the second pass removes the rounding errors of the first.
void orthonormalize(double* row, const double* block, int64_t before, int64_t width) {
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < before; ++i) {
      const double* other = block + i * width;
      const double part = dot(row, other, width);
      for (int64_t f = 0; f < width; ++f) row[f] -= part * other[f];
    }
    scale(row, width, 1 / std::sqrt(dot(row, row, width)));
  }
}

}  // namespace

std::vector<double> orthogonal_normal_rows(int64_t count, int64_t width, uint64_t seed, uint64_t stream) {
  std::vector<double> rows(size_t(count * width));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = random_normal(seed, stream, i);
  for (int64_t i = 0; i < count; ++i)
    orthonormalize(&rows[size_t(i * width)], &rows[size_t(i / width * width * width)], i % width, width);
  RandomStream lengths(seed, mix(stream, 1));
  for (int64_t i = 0; i < count; ++i) {
    double squares = 0;
    for (int64_t f = 0; f < width; ++f) {
      const double x = lengths.normal();
      squares += x * x;
    }
    scale(&rows[size_t(i * width)], width, std::sqrt(squares));
  }
  return rows;
}

}  // namespace gyre
