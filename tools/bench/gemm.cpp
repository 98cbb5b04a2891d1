#include "tools/bench/gemm.h"

#include <cstdio>
#include <functional>

#include "core/gemm.h"
#include "core/machine_limits.h"
#include "core/random.h"
#include "tools/bench/figures.h"
#include "tools/bench/preset_shapes.h"
#include "tools/facts.h"
#include "train/stopwatch.h"

namespace gyre {
namespace {

struct Layer {
  const char* name;
  int64_t n, d, o;
};

std::vector<Layer> layers_of(const PresetShape& s) {
  return {{"projection", s.rows(), s.dim, s.dim},
          {"fc1", s.rows(), s.dim, s.ffn},
          {"fc2", s.rows(), s.ffn, s.dim},
          {"output", s.loss_rows, s.dim, s.vocabulary}};
}

std::vector<float> random_matrix(int64_t rows, int64_t cols) {
  std::vector<float> numbers(size_t(rows * cols));
  RandomStream random(1, 1);
  for (float& x : numbers) x = float(random.uniform() - 0.5);
  return numbers;
}

double median_seconds(int repetitions, const std::function<void()>& run) {
  run();
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const Stopwatch watch;
    run();
    seconds.push_back(watch.seconds());
  }
  return median(seconds);
}

GemmRow measure(const std::string& preset, const Layer& layer, int repetitions) {
  const auto [name, n, d, o] = layer;
  std::vector<float> x = random_matrix(n, d), w = random_matrix(o, d), y = random_matrix(n, o);
  const Gemm<float> forward{n, o, d, x.data(), d, false, w.data(), d, true, 0, y.data(), o},
      dinput{n, d, o, y.data(), o, false, w.data(), d, false, 0, x.data(), d},
      dweight{o, d, n, y.data(), o, true, x.data(), d, false, 1, w.data(), d};
  GemmRow row{preset, name, concat(n, " x ", d, " x ", o), 2.0 * double(n) * double(d) * double(o), 0, 0, 0};
  row.forward_seconds = median_seconds(repetitions, [&] { gemm(forward); });
  row.dinput_seconds = median_seconds(repetitions, [&] { gemm(dinput); });
  row.dweight_seconds = median_seconds(repetitions, [&] { gemm(dweight); });
  return row;
}

void print_table(const GemmReport& report) {
  std::printf("%-14s %-11s %-20s %9s %9s %9s %7s  GFLOP/s\n", "preset", "layer", "n x d x o", "forward", "dx", "dw",
              "share");
  for (const GemmRow& r : report.rows) {
    const double all = 3 * r.flops / (r.forward_seconds + r.dinput_seconds + r.dweight_seconds);
    std::printf("%-14s %-11s %-20s %9.1f %9.1f %9.1f %6.1f%%\n", r.preset.c_str(), r.layer.c_str(), r.shape.c_str(),
                r.flops / r.forward_seconds / 1e9, r.flops / r.dinput_seconds / 1e9, r.flops / r.dweight_seconds / 1e9,
                100 * all / report.limit_flops);
  }
}

}  // namespace

GemmReport run_gemm_bench(const std::string& preset, int repetitions) {
  GemmReport report;
  const double limit = measure_sgemm(threads());
  double flops = 0, seconds = 0;
  for (const PresetShape& shape : preset_shapes(preset))
    for (const Layer& layer : layers_of(shape)) {
      const GemmRow& row = report.rows.emplace_back(measure(shape.preset, layer, repetitions));
      flops += 3 * row.flops;
      seconds += row.forward_seconds + row.dinput_seconds + row.dweight_seconds;
    }
  report.flops = flops / seconds;
  report.limit_flops = std::max(limit, measure_sgemm(threads()));
  return report;
}

void print_gemm(const GemmReport& report, bool json) {
  if (!json) print_table(report);
  nlohmann::ordered_json facts;
  add_rate(facts, report.flops, report.limit_flops);
  if (json)
    for (const GemmRow& r : report.rows)
      facts["rows"].push_back({{"preset", r.preset},
                               {"layer", r.layer},
                               {"shape", r.shape},
                               {"forward_gflops", rounded(r.flops / r.forward_seconds / 1e9)},
                               {"dinput_gflops", rounded(r.flops / r.dinput_seconds / 1e9)},
                               {"dweight_gflops", rounded(r.flops / r.dweight_seconds / 1e9)}});
  print_facts(facts, json);
}

}  // namespace gyre
