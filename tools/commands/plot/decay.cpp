// gyre plot decay: draws the long-term decay of rotary positions (Su et al. 2021, section 3.4.3 and figure 3).
#include <complex>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "tools/plots/lines.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct PlotDecayArgs {
  std::vector<double> bases{10000};
  std::vector<int> dims{128};
  int distance = 256;
  Path output = "decay.png", data;
};

// Relative upper bound of the product of a rotated query and key, at distances 0, 1, ..:
//   1/(d/2) sum_i |S_i|,  S_i = sum_{j < i} exp(i t theta_j),  theta_j = base^(-2j/d),  i = 1 .. d/2
std::vector<double> decay(double base, int dims, int distance) {
  const int pairs = dims / 2;
  std::vector<double> bound;
  for (int t = 0; t <= distance; ++t) {
    std::complex<double> partial = 0;
    double sum = 0;
    for (int j = 0; j < pairs; ++j) {
      partial += std::polar(1.0, t * std::pow(base, -2.0 * j / dims));
      sum += std::abs(partial);
    }
    bound.push_back(sum / pairs);
  }
  return bound;
}

void check(const PlotDecayArgs& args) {
  for (const double base : args.bases)
    if (!(base > 0)) throw UsageError("--rope-base: expected a positive number, got ", base);
  for (const int dims : args.dims)
    if (dims < 2 || dims % 2 != 0) throw UsageError("--dims: expected an even number of at least 2, got ", dims);
  expect_at_least(1, "--distance", args.distance);
}

int run(const PlotDecayArgs& args) {
  check(args);
  LinesPlot plot;
  plot.title = "RoPE: relative upper bound of the product";
  plot.x_label = "relative distance";
  plot.y_label = "relative upper bound";
  Json curves = Json::array();
  std::vector<double> distances;
  for (int t = 0; t <= args.distance; ++t) distances.push_back(t);
  for (const double base : args.bases) {
    for (const int dims : args.dims) {
      const std::vector<double> bound = decay(base, dims, args.distance);
      plot.lines.push_back({concat("base ", base, ", ", dims, " dims"), distances, bound});
      curves.push_back({{"base", base}, {"dims", dims}, {"bound", bound}});
    }
  }
  if (!args.data.empty()) write_file(args.data, json_text({{"curves", curves}}) + "\n");
  draw_lines(plot, args.output);
  return 0;
}

}  // namespace

void add_plot_decay_command(Program& program) {
  auto args = std::make_shared<PlotDecayArgs>();
  OptionTable& table = program.command(
      "plot decay", "draw the decay of rotary positions over distance, without a model", [args] { return run(*args); });
  table.add_list("--rope-base", args->bases, "NUMBER,...", "bases of the frequencies, one curve each");
  table.add_list("--dims", args->dims, "FEATURES,...", "numbers of rotated features per head, one curve each");
  table.add("--distance", args->distance, "TOKENS", "maximum distance");
  table.add_picture("--output,--out,-o", args->output, "output picture");
  table.add("--data", args->data, "FILE", "also write the numbers as JSON");
}

}  // namespace gyre
