// Wavelets as relative positions (Oka et al. 2025, eq. 10-15): e_ij = q_i . (k_j + p_x) / sqrt(d), x = j - i, or i - j
// by the flag, and p_x[f] = psi((x - b) / a), feature f = scale number * shifts + shift number. Nothing is learned; all
// heads and layers share the table.
//   ricker   (1 - u^2) exp(-u^2 / 2)      gaussian   exp(-u^2)      with u = (x - b) / a
//   morlet   exp(-u^2) cos(x - b)         haar       1 on [-1/2, 0), -1 on [-1, -1/2), else 0
// No factor 1/sqrt(a); Morlet's cosine is not scaled; Haar's wavelet is mirrored: a decoder's x is never above 0.
#include <cmath>
#include <numeric>

#include "models/position/distances.h"

namespace gyre {
namespace {

double psi(Wavelet kind, double x, double scale, double shift) {
  const double u = (x - shift) / scale;
  if (std::abs(u) > 40) return 0;  // below the smallest double, and no power overflows
  switch (kind) {
    case Wavelet::ricker:
      return (1 - u * u) * std::exp(-u * u / 2);
    case Wavelet::gaussian:
      return std::exp(-u * u);
    case Wavelet::morlet:
      return std::exp(-u * u) * std::cos(x - shift);
    case Wavelet::haar:
      break;
  }
  return u >= -0.5 && u < 0 ? 1 : u >= -1 && u < -0.5 ? -1 : 0;
}

// What counts for nothing in a score is zero: denormal numbers would make its products slow.
double without_dust(double value) { return std::abs(value) < 1e-20 ? 0 : value; }

// Lists that are empty are the paper's: powers of two, 8 of them where that fits the width; shifts 0, 1, ..
void fill_empty(std::vector<double>& scales, std::vector<double>& shifts, int64_t width) {
  if (scales.empty()) {
    const int64_t count = shifts.empty() ? std::gcd(width, int64_t{8}) : width / int64_t(shifts.size());
    for (int64_t i = 0; i < count; ++i) scales.push_back(std::exp2(double(i)));
  }
  if (shifts.empty()) {
    const int64_t count = width / int64_t(scales.size());
    for (int64_t i = 0; i < count; ++i) shifts.push_back(double(i));
  }
}

class Wavelets final : public PositionEncoding {
 public:
  explicit Wavelets(const PositionContext& c)
      : kind_(c.config.wavelet),
        sign_(c.config.wavelet_time == WaveletTime::key_minus_query ? 1 : -1),
        scales_(c.config.wavelet_scales),
        shifts_(c.config.wavelet_shifts) {
    const int64_t width = c.dim / c.heads;
    fill_empty(scales_, shifts_, width);
    require(int64_t(scales_.size() * shifts_.size()) == width, "[wavelet] scales x shifts must fill the head's width, ",
            width, ", got ", scales_.size(), " scales x ", shifts_.size(), " shifts");
    for (double a : scales_) require(a > 0 && std::isfinite(a), "[wavelet] scales must be positive, got ", a);
    for (double b : shifts_) require(std::isfinite(b), "[wavelet] shifts must be numbers, got ", b);
  }

  DistanceTerms terms(Tape& tape, const TermsRequest& request) const override {
    const ConstantTable& kept = table_.get(request, [&](const TermsRequest& wider) {
      return distance_table(wider, int64_t(scales_.size() * shifts_.size()), [&](int64_t t, double* row) {
        for (double a : scales_)
          for (double b : shifts_) *row++ = without_dust(psi(kind_, sign_ * double(t), a, b));
      });
    });
    DistanceTerms terms;
    terms.query_table = tape.constant(kept.as(request.dtype, tape.kernels().device()));
    terms.zero = table_.zero();
    return terms;
  }

 private:
  Wavelet kind_;
  double sign_;  // of x beside t
  std::vector<double> scales_, shifts_;
  KeptByDistance<ConstantTable> table_;
};

}  // namespace

std::unique_ptr<PositionEncoding> make_wavelet(const PositionContext& context) {
  return std::make_unique<Wavelets>(context);
}

}  // namespace gyre
