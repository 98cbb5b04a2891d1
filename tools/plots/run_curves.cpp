#include "tools/plots/run_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/log/metrics_log.h"

namespace gyre {
namespace {

// More points cannot be distinguished on a screen and would make an SVG large.
constexpr size_t kMaxPoints = 2000;

Curve curve(const std::vector<Json>& entries, std::string_view event, const std::string& key) {
  Curve points;
  for (const auto& entry : entries) {
    if (entry["event"] != event || !entry.contains(key) || !entry.contains("updates")) continue;
    const auto& value = entry[key];  // null if it was not finite
    points.push_back({entry["updates"].get<double>(),
                      value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN()});
  }
  return points;
}

// The name of the run, or that of a file outside a run directory without its extension.
std::string name_of(const Path& metrics) {
  return metrics.filename() == "metrics.jsonl" ? run_name(metrics.parent_path()) : metrics.stem().string();
}

[[noreturn]] void fail_empty(const Path& file, const std::vector<Json>& entries) {
  int64_t updates = 0;
  for (const auto& entry : entries) updates = std::max(updates, entry.value("updates", int64_t{0}));
  throw Error("[plot] ", file.string(), ": expected a loss to draw, got none in ", counted(uint64_t(updates), "update"),
              ": training records its loss every --disp-freq updates and when it validates; continue the run with "
              "--disp-freq 1u, for example");
}

}  // namespace

bool has_points(const Curve& curve) {
  return std::any_of(curve.begin(), curve.end(), [](const CurvePoint& point) { return std::isfinite(point.value); });
}

RunCurves read_curves(const Path& run, double smoothing) {
  const Path file = std::filesystem::is_directory(run) ? run / "metrics.jsonl" : run;
  const auto entries = read_metrics(file);
  RunCurves curves;
  curves.name = name_of(file);
  const Curve losses = curve(entries, "train", "loss");
  curves.train_loss = downsample(losses, kMaxPoints);
  curves.smoothed_loss = downsample(smooth(losses, smoothing), kMaxPoints);
  curves.valid_loss = curve(entries, "valid", "loss");
  curves.bleu = curve(entries, "valid", "bleu");
  curves.learning_rate = downsample(curve(entries, "train", "learning_rate"), kMaxPoints);
  if (!has_points(losses) && !has_points(curves.valid_loss)) fail_empty(file, entries);
  return curves;
}

Curve smooth(const Curve& curve, double share) {
  const auto half = size_t(std::lround(share * double(curve.size()) / 2));
  Curve result = curve;
  double sum = 0;
  size_t finite = 0, begin = 0, end = 0;  // the window
  for (size_t i = 0; i < curve.size(); ++i) {
    for (; end < std::min(i + half + 1, curve.size()); ++end) {
      if (!std::isfinite(curve[end].value)) continue;
      sum += curve[end].value;
      ++finite;
    }
    for (; begin + half < i; ++begin) {
      if (!std::isfinite(curve[begin].value)) continue;
      sum -= curve[begin].value;
      --finite;
    }
    if (std::isfinite(curve[i].value)) result[i].value = sum / double(finite);
  }
  return result;
}

Curve downsample(const Curve& curve, size_t max_points) {
  if (curve.size() <= max_points) return curve;
  Curve result;
  for (size_t i = 1; i <= max_points; ++i) result.push_back(curve[i * curve.size() / max_points - 1]);
  return result;
}

}  // namespace gyre
