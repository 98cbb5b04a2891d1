// gyre plot decay: how far rotary positions let two tokens attend to one another (Su et al. 2021, 3.4.3 and figure 3).
#include <complex>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/plots/lines.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct PlotDecay {
  std::vector<double> bases{10000};
  std::vector<int> dims{128};
  int distance = 256;
  Path output = "decay.png", data;
};

// The bound of what the product of a turned query and key grows with, at distances 0, 1, ..:
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

void check(const PlotDecay& call) {
  for (const double base : call.bases)
    if (!(base > 0)) throw UsageError("--rope-base: expected a positive number, got ", base);
  for (const int dims : call.dims)
    if (dims < 2 || dims % 2 != 0) throw UsageError("--dims: expected an even number of at least 2, got ", dims);
  if (call.distance < 1) throw UsageError("--distance: expected at least 1, got ", call.distance);
}

int run(const PlotDecay& call) {
  check(call);
  LinesPlot plot;
  plot.title = "RoPE: relative upper bound of the product";
  plot.x_label = "relative distance";
  plot.y_label = "relative upper bound";
  nlohmann::ordered_json curves = nlohmann::ordered_json::array();
  std::vector<double> distances;
  for (int t = 0; t <= call.distance; ++t) distances.push_back(t);
  for (const double base : call.bases) {
    for (const int dims : call.dims) {
      const std::vector<double> bound = decay(base, dims, call.distance);
      plot.lines.push_back({concat("base ", base, ", ", dims, " dims"), distances, bound});
      curves.push_back({{"base", base}, {"dims", dims}, {"bound", bound}});
    }
  }
  if (!call.data.empty()) write_file(call.data, nlohmann::ordered_json{{"curves", curves}}.dump() + "\n");
  draw_lines(plot, call.output);
  return 0;
}

}  // namespace

void add_plot_decay_command(Program& program) {
  auto call = std::make_shared<PlotDecay>();
  OptionTable& table = program.command("plot decay", "draw how rotary positions fade over distance, without a model",
                                       [call] { return run(*call); });
  table.add_list("--rope-base", call->bases, "NUMBER,...", "bases of the frequencies, a line each");
  table.add_list("--dims", call->dims, "FEATURES,...", "of a head that turn, a line each");
  table.add("--distance", call->distance, "TOKENS", "the furthest");
  table.add_picture("--output,--out,-o", call->output, "the picture");
  table.add("--data", call->data, "FILE", "the numbers as JSON, too");
}

}  // namespace gyre
