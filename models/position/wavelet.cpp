// Wavelets as relative positions (Oka et al. 2025, eq. 10-15): e_ij = q_i . (k_j + p_x) / sqrt(d). x = j - i, or i - j
// with query-minus-key. p_x[f] = psi((x - b) / a), where feature f = scale number * shifts + shift number. Nothing is
// learned; all heads and layers share the table.
//   ricker   (1 - u^2) exp(-u^2 / 2)      gaussian   exp(-u^2)      with u = (x - b) / a
//   morlet   exp(-u^2) cos(x - b)         haar       1 on [-1/2, 0), -1 on [-1, -1/2), else 0
// There is no factor 1/sqrt(a), and Morlet's cosine is not scaled. Haar's wavelet is mirrored, because x is never above
// 0 in a decoder.
#include <cmath>
#include <numeric>

#include "gyre/models/position/distances.h"

namespace gyre {

enum class Wavelet : uint8_t { ricker, gaussian, morlet, haar };
enum class WaveletTime : uint8_t { key_minus_query, query_minus_key };

template <>
inline constexpr std::pair<Wavelet, std::string_view> kEnumNames<Wavelet>[] = {
    {Wavelet::ricker, "ricker"}, {Wavelet::gaussian, "gaussian"}, {Wavelet::morlet, "morlet"}, {Wavelet::haar, "haar"}};
template <>
inline constexpr std::pair<WaveletTime, std::string_view> kEnumNames<WaveletTime>[] = {
    {WaveletTime::key_minus_query, "key-minus-query"}, {WaveletTime::query_minus_key, "query-minus-key"}};

namespace {

struct WaveletOptions {
  Wavelet wavelet = Wavelet::ricker;
  // Their numbers multiply to the width of a head. Empty: the paper's.
  std::vector<double> scales, shifts;
  WaveletTime time = WaveletTime::key_minus_query;

  void declare(OptionList& list) {
    list.add(OnResume::another_model, "--wavelet", &wavelet, "function of the distance");
    list.add(OnResume::another_model, "--wavelet-scales", &scales, "NUMBER,...",
             "its widths; none: 1, 2, 4, .., at most 8 of them");
    list.add(OnResume::another_model, "--wavelet-shifts", &shifts, "NUMBER,...",
             "its centers; none: 0, 1, 2, .. until scales x shifts is the width of a head");
    list.add(OnResume::another_model, "--wavelet-time", &time, "sign of the distance");
  }
};

double psi(Wavelet kind, double x, double scale, double shift) {
  const double u = (x - shift) / scale;
  if (std::abs(u) > 40) return 0;  // psi is below the smallest double; squares of larger u could overflow
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

// Sets values that are negligible in a score to zero: products with denormal numbers would be slow.
double flush_denormals(double value) { return std::abs(value) < 1e-20 ? 0 : value; }

// Fills empty lists with the paper's: scales 1, 2, 4, .., gcd(width, 8) of them, and shifts 0, 1, ..
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
  static void check(const PositionWidths& widths, const WaveletOptions& options) {
    std::vector<double> scales = options.scales, shifts = options.shifts;
    fill_empty(scales, shifts, widths.head);
    require(int64_t(scales.size() * shifts.size()) == widths.head,
            "[wavelet] scales x shifts must fill the head's width, ", widths.head, ", got ", scales.size(),
            " scales x ", shifts.size(), " shifts");
    for (double a : scales) require(a > 0 && std::isfinite(a), "[wavelet] scales must be positive, got ", a);
    for (double b : shifts) require(std::isfinite(b), "[wavelet] shifts must be numbers, got ", b);
  }
  Wavelets(const PositionContext& c, const WaveletOptions& options)
      : kind_(options.wavelet),
        sign_(options.time == WaveletTime::key_minus_query ? 1 : -1),
        scales_(options.scales),
        shifts_(options.shifts) {
    fill_empty(scales_, shifts_, c.head_width());
  }

  PositionTerms terms(Tape& tape, const PositionTermsRequest& request) const override {
    const ConstantTable& kept = table_.get(request, [&](const PositionTermsRequest& wider) {
      return distance_table(wider, int64_t(scales_.size() * shifts_.size()), [&](int64_t t, double* row) {
        for (double a : scales_)
          for (double b : shifts_) *row++ = flush_denormals(psi(kind_, sign_ * double(t), a, b));
      });
    });
    PositionTerms terms;
    terms.query_table = tape.constant(kept.as(request.dtype, tape.kernels().device()));
    terms.zero_offset = table_.zero_offset();
    return terms;
  }

 private:
  Wavelet kind_;
  double sign_;  // x = sign_ * t
  std::vector<double> scales_, shifts_;
  KeptByDistance<ConstantTable> table_;
};

}  // namespace

PositionEncodingType wavelet_encoding() { return position_encoding<Wavelets, WaveletOptions>(); }

}  // namespace gyre
