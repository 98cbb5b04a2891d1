// Curves from metrics.jsonl, and plots if gnuplot is installed.
#include "tools/plots/run_plot.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "gyre/core/error.h"
#include "gyre/train/log/metrics_log.h"
#include "tests/report.h"
#include "tests/temporary_directory.h"
#include "tools/plots/gnuplot.h"

using namespace gyre;

namespace {

bool has_gnuplot() { return std::system("gnuplot --version > /dev/null 2>&1") == 0; }

void write_run(const Path& directory) {
  std::filesystem::create_directories(directory);
  MetricsLog log(directory / "metrics.jsonl");
  for (int updates = 10; updates <= 200; updates += 10) {
    const double loss = updates == 100 ? std::nan("") : 9.0 / std::sqrt(updates);
    log.append({{"event", "train"}, {"updates", updates}, {"loss", loss}, {"learning_rate", 1e-5 * updates}});
    if (updates % 50 == 0)
      log.append({{"event", "valid"}, {"updates", updates}, {"loss", loss + 1}, {"bleu", updates / 10}});
  }
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "curves are read from their events, including gaps") {
  write_run(directory / "small_run");
  const RunCurves curves = read_curves(directory / "small_run", 0);
  CHECK(curves.name == "small_run");
  REQUIRE(curves.train_loss.size() == 20);
  CHECK(curves.train_loss[0].updates == 10);
  CHECK(curves.train_loss[0].value == doctest::Approx(9.0 / std::sqrt(10)));
  CHECK(std::isnan(curves.train_loss[9].value));
  CHECK(curves.learning_rate.size() == 20);
  CHECK(curves.valid_loss.size() == 4);
  REQUIRE(curves.bleu.size() == 4);
  CHECK(curves.bleu[3].value == 20);
  CHECK(read_curves(directory / "small_run" / "metrics.jsonl", 0).name == "small_run");
}

TEST_CASE("the moving mean is centered, truncated at the ends, and skips gaps") {
  const double gap = std::nan("");
  const Curve mean = smooth({{1, 4}, {2, 6}, {3, 11}, {4, gap}, {5, 1}}, 0.4);  // one point to each side
  CHECK(mean[0].value == doctest::Approx(5));
  CHECK(mean[1].value == doctest::Approx(7));
  CHECK(mean[2].value == doctest::Approx(8.5));
  CHECK(std::isnan(mean[3].value));
  CHECK(mean[4].value == doctest::Approx(1));
  CHECK(smooth({{1, 4}, {2, 6}}, 0)[1].value == 6);
  // A straight line is unchanged away from its ends: no lag.
  Curve line;
  for (int i = 0; i < 100; ++i) line.push_back({double(i), 100.0 - i});
  CHECK(smooth(line, 0.1)[50].value == doctest::Approx(50));
}

TEST_CASE("thinning keeps the last point") {
  Curve curve;
  for (int i = 0; i < 1000; ++i) curve.push_back({double(i), 0});
  const Curve thin = downsample(curve, 300);
  CHECK(thin.size() == 300);
  CHECK(thin.back().updates == 999);
  CHECK(downsample(curve, 1000).size() == 1000);
}

TEST_CASE("plots of one run and of several runs") {
  if (!has_gnuplot()) return report_skipped("gnuplot is not installed");
  const TemporaryDirectory directory;
  write_run(directory / "it's");
  write_run(directory / "b");
  PlotOptions options;
  options.learning_rate = true;
  plot_runs({directory / "it's"}, directory / "one's.png", options);
  CHECK(read_file(directory / "one's.png").starts_with("\x89PNG\r\n"));
  plot_runs({directory / "it's", directory / "b"}, directory / "two.svg");
  const std::string svg = read_file(directory / "two.svg");
  for (const std::string text : {"<svg", "it's", "training loss", "validation loss", "validation BLEU"}) {
    CAPTURE(text);
    CHECK(svg.find(text) != std::string::npos);
  }
  options.bleu = false;
  plot_runs({directory / "it's", directory / "b"}, directory / "without.svg", options);
  CHECK(read_file(directory / "without.svg").find("BLEU") == std::string::npos);
}

TEST_CASE("a plot of the validation losses only") {
  if (!has_gnuplot()) return report_skipped("gnuplot is not installed");
  const TemporaryDirectory directory;
  write_run(directory / "a");
  write_run(directory / "b");
  PlotOptions options;
  options.train_loss = options.bleu = false;
  plot_runs({directory / "a", directory / "b"}, directory / "valid.svg", options);
  const std::string picture = read_file(directory / "valid.svg");
  CHECK(picture.find("validation loss") != std::string::npos);
  CHECK(picture.find("training loss") == std::string::npos);
}

TEST_CASE("runs that lack a series are drawn without it") {
  if (!has_gnuplot()) return report_skipped("gnuplot is not installed");
  const TemporaryDirectory directory;
  write_run(directory / "whole");
  MetricsLog(directory / "valid.jsonl").append({{"event", "valid"}, {"updates", 500}, {"loss", 2}, {"bleu", 0}});
  MetricsLog(directory / "train.jsonl").append({{"event", "train"}, {"updates", 1}, {"loss", 2}});
  PlotOptions options;
  options.learning_rate = true;
  const std::vector<Path> runs{directory / "whole", directory / "valid.jsonl", directory / "train.jsonl"};
  for (const Path& run : runs) {
    std::filesystem::remove(directory / "x.svg");
    plot_runs({run}, directory / "x.svg", options);
    CHECK(std::filesystem::file_size(directory / "x.svg") > 1000);
  }
  plot_runs(runs, directory / "all.svg", options);
  CHECK(read_file(directory / "all.svg").find("learning rate") != std::string::npos);
  CHECK(read_file(directory / "x.svg").find("learning rate") == std::string::npos);
}

TEST_CASE_FIXTURE(InDirectory, "the error for a run that cannot be drawn gives the reason") {
  write_run(directory / "a");
  const std::vector<Path> runs{directory / "a"};
  CHECK_THROWS_WITH_AS(plot_runs({}, "x.png"), "[plot] expected at least one run, got none", Error);
  CHECK_THROWS_WITH_AS(plot_runs(runs, "x.pdf"), "expected a name that ends in .png or .svg, got x.pdf", Error);
  CHECK_THROWS_WITH_AS(plot_runs(runs, "x.png", {.smoothing = 1}), doctest::Contains("smoothing"), Error);
  write_file(directory / "empty.jsonl", "{\"event\":\"start\"}\n");
  CHECK_THROWS_WITH_AS(plot_runs({directory / "empty.jsonl"}, "x.png"), doctest::Contains("empty.jsonl"), Error);
  CHECK_THROWS_WITH_AS(plot_runs(runs, directory / "x.png", {.gnuplot = "no-such-gnuplot"}),
                       "[plot] cannot run the program no-such-gnuplot: install gnuplot, or give its path", Error);
}

TEST_CASE("the error of a failed gnuplot contains its output") {
  if (!has_gnuplot()) return report_skipped("gnuplot is not installed");
  CHECK_THROWS_WITH_AS(run_gnuplot("gnuplot", "plot 'no-such-file'\n"), doctest::Contains("no-such-file"), Error);
  const TemporaryDirectory directory;
  write_run(directory / "a");
  CHECK_THROWS_WITH_AS(plot_runs({directory / "a"}, directory / "none" / "x.png"),
                       doctest::Contains("[plot] gnuplot failed"), Error);
}
