#include "tools/plots/run_plot.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/number_text.h"
#include "gyre/train/checkpoint/run_directory.h"
#include "gyre/train/log/metrics_log.h"
#include "tools/plots/gnuplot.h"

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

namespace {

constexpr const char* kGray = "#555555";

enum Series { kTrain, kValid, kBleu };
constexpr std::array<const char*, 3> kSeriesNames{"training loss", "validation loss", "validation BLEU"};
constexpr std::array<const char*, 3> kSeriesStyles{"lines lw 1.5", "linespoints lw 2 pt 7 ps 0.7",
                                                   "linespoints lw 2 dt '-' pt 9 ps 0.9"};

// A gnuplot script. A single run has a color per series; several runs have a color per run and a line style per series.
class Script {
 public:
  Script(std::vector<RunCurves> runs, const PlotOptions& options) : runs_(std::move(runs)), options_(options) {}

  std::string write(const Path& output) {
    add_data();
    text_ += gnuplot_terminal(output, options_.width, options_.height);
    text_ += "set border 11 lc rgb '#888888'\nset grid lt 1 lw 1 lc rgb '#e8e8e8'\nset tics textcolor rgb '#333333'\n";
    text_ += "set xtics nomirror\nset ytics nomirror\nset lmargin at screen 0.085\nset rmargin at screen 0.925\n";
    text_ += fmt::format("set tmargin at screen {}\nset xrange [0:{}]\n", title().empty() ? 0.97 : 0.93, last_update());
    if (draws_learning_rate()) text_ += "set multiplot\nset bmargin at screen 0.36\nset format x ''\n";
    add_loss_panel();
    if (draws_learning_rate()) add_learning_rate_panel();
    return std::move(text_);
  }

 private:
  bool single() const { return runs_.size() == 1; }
  const char* color(size_t run, size_t series) const {
    return plot_colors()[(single() ? series : run) % plot_colors().size()].c_str();
  }
  std::string title() const { return !options_.title.empty() || !single() ? options_.title : runs_[0].name; }

  static std::string block(std::string_view name, size_t run) { return fmt::format("${}{}", name, run); }

  void add_block(std::string_view name, size_t run, const Curve& curve) {
    text_ += block(name, run) + " << END\n";
    // An empty line makes a gap in the curve.
    for (const CurvePoint& point : curve) {
      text_ += std::isfinite(point.value) ? fmt::format("{} {}\n", point.updates, point.value) : "\n";
    }
    text_ += "END\n";
  }

  void add_data() {
    for (size_t i = 0; i < runs_.size(); ++i) {
      add_block("raw", i, runs_[i].train_loss);
      add_block("series0_", i, runs_[i].smoothed_loss);
      add_block("series1_", i, runs_[i].valid_loss);
      add_block("series2_", i, runs_[i].bleu);
      add_block("rate", i, runs_[i].learning_rate);
    }
  }

  void add_loss_panel() {
    // Losses fall and leave the upper corner free, whereas BLEU rises into it.
    text_ += fmt::format("set title {} font ',15'\nset key right {} Left reverse spacing 1.2\n",
                         gnuplot_string(title()), draws(kBleu) ? "center" : "top");
    text_ += "set ylabel 'loss (nats per token)'\n";
    if (!draws_learning_rate()) text_ += "set xlabel 'updates'\n";
    if (draws(kBleu)) text_ += "set y2label 'BLEU'\nset y2tics\nset y2range [0:*]\n";
    std::vector<std::string> plots;
    for (size_t i = 0; i < runs_.size(); ++i) add_run(plots, i);
    if (!single()) add_style_legend(plots);
    text_ += fmt::format("plot {}\n", fmt::join(plots, ", \\\n  "));
  }

  bool any_run_has(Curve RunCurves::*curve) const {
    return std::any_of(runs_.begin(), runs_.end(), [&](const RunCurves& run) { return has_points(run.*curve); });
  }

  bool draws(size_t series) const {
    constexpr std::array<Curve RunCurves::*, 3> kCurves{&RunCurves::smoothed_loss, &RunCurves::valid_loss,
                                                        &RunCurves::bleu};
    return any_run_has(kCurves[series]) && (series != kBleu || options_.bleu) &&
           (series != kTrain || options_.train_loss);
  }

  bool draws_learning_rate() const { return options_.learning_rate && any_run_has(&RunCurves::learning_rate); }

  // Both panels span the same updates.
  double last_update() const {
    double last = 1;
    for (const RunCurves& run : runs_) {
      for (const Curve* curve : {&run.train_loss, &run.valid_loss, &run.bleu}) {
        if (!curve->empty()) last = std::max(last, curve->back().updates);
      }
    }
    return last;
  }

  void add_run(std::vector<std::string>& plots, size_t i) const {
    // The raw curve, pale, behind the mean. With several runs it would hide the other curves.
    if (single() && options_.smoothing > 0 && draws(kTrain)) {
      plots.push_back(
          fmt::format("{} using 1:2 with lines lw 1 lc rgb '#C0{}' notitle", block("raw", i), color(i, kTrain) + 1));
    }
    if (!single()) {
      plots.push_back(
          fmt::format("NaN with lines lw 5 lc rgb '{}' title {}", color(i, 0), gnuplot_string(runs_[i].name)));
    }
    for (size_t series = kTrain; series <= kBleu; ++series) {
      if (!draws(series)) continue;
      plots.push_back(fmt::format("{} using 1:2 axes x1y{} with {} lc rgb '{}' {}",
                                  block(fmt::format("series{}_", series), i), series == kBleu ? 2 : 1,
                                  kSeriesStyles[series], color(i, series),
                                  single() ? fmt::format("title '{}'", kSeriesNames[series]) : "notitle"));
    }
  }

  void add_style_legend(std::vector<std::string>& plots) const {
    for (size_t series = kTrain; series <= kBleu; ++series) {
      if (!draws(series)) continue;
      plots.push_back(
          fmt::format("NaN with {} lc rgb '{}' title '{}'", kSeriesStyles[series], kGray, kSeriesNames[series]));
    }
  }

  void add_learning_rate_panel() {
    text_ +=
        "set tmargin at screen 0.32\nset bmargin at screen 0.09\nunset title\nunset key\nunset y2label\nunset y2tics\n";
    text_ += "set border 3 lc rgb '#888888'\nset format x\nset format y '%g'\nset xlabel 'updates'\n";
    text_ += "set ylabel 'learning rate'\nset yrange [0:*]\n";
    std::vector<std::string> plots;
    for (size_t i = 0; i < runs_.size(); ++i) {
      plots.push_back(
          fmt::format("{} using 1:2 with lines lw 2 lc rgb '{}'", block("rate", i), single() ? kGray : color(i, 0)));
    }
    text_ += fmt::format("plot {}\nunset multiplot\n", fmt::join(plots, ", \\\n  "));
  }

  std::vector<RunCurves> runs_;
  const PlotOptions& options_;
  std::string text_;
};

}  // namespace

void plot_runs(const std::vector<Path>& runs, const Path& output, const PlotOptions& options) {
  require(!runs.empty(), "[plot] expected at least one run, got none");
  require(options.smoothing >= 0 && options.smoothing < 1, "[plot] expected a smoothing from 0 to below 1, got ",
          options.smoothing);
  std::vector<RunCurves> curves;
  for (const Path& run : runs) curves.push_back(read_curves(run, options.smoothing));
  for (size_t i = 0; i < curves.size(); ++i) {
    const auto same = [&](const RunCurves& other) { return other.name == curves[i].name; };
    if (std::count_if(curves.begin(), curves.end(), same) > 1) curves[i].name = runs[i].string();
  }
  run_gnuplot(options.gnuplot, Script(std::move(curves), options).write(output));
}

}  // namespace gyre
