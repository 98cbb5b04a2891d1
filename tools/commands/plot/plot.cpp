// gyre plot, gyre plot decay and gyre plot extrapolation: curves of runs, of position encodings and of lengths.
#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/analysis/language_score.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/plots/charts.h"
#include "tools/plots/run_plot.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct PlotArgs {
  std::vector<Path> runs;
  Path output = "curve.png";
  PlotOptions options;
  bool without_train = false, without_bleu = false;
};

int plot(PlotArgs& args) {
  args.options.train_loss = !args.without_train;
  args.options.bleu = !args.without_bleu;
  plot_runs(args.runs, args.output, args.options);
  return 0;
}

}  // namespace

void add_plot_command(Program& program) {
  auto args = std::make_shared<PlotArgs>();
  OptionTable& table = program.command("plot", "draw the loss curves of runs", [args] { return plot(*args); });
  table.add("--model,-m", args->runs, "DIRECTORY...", "run directories or metrics.jsonl files, one color each");
  table.required("model");
  table.add_picture("--output,-o", args->output, "output picture");
  table.add("--title", args->options.title, "TEXT", "title; default: the run's name if there is only one");
  table.add("--smoothing", args->options.smoothing, "NUMBER",
            "moving mean of the training loss over this share of the run, from 0 to below 1; 0: no smoothing");
  table.add("--width", args->options.width, "PIXELS", "width of the picture");
  table.add("--height", args->options.height, "PIXELS", "height of the picture");
  table.add_flag("--learning-rate", args->options.learning_rate, "add a panel with the learning rate");
  table.add_flag("--no-train", args->without_train, "omit the training loss");
  table.add_flag("--no-bleu", args->without_bleu, "omit validation BLEU");
}

// ---- gyre plot decay -----------------------------------------------------------------------------------------------
// gyre plot decay: draws the long-term decay of rotary positions (Su et al. 2021, section 3.4.3 and figure 3).

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

// ---- gyre plot extrapolation ---------------------------------------------------------------------------------------
// gyre plot extrapolation: draws perplexity against length, from the output of gyre evaluate extrapolation --json.

namespace {

struct PlotExtrapolationArgs {
  std::vector<Path> results;
  Path output = "extrapolation.png";
  LengthProtocol protocol = LengthProtocol::full;
  double max_perplexity = 0;
};

// The line is named after its file. A length without a score is a gap.
PlotLine read_line(const PlotExtrapolationArgs& args, const Path& file) {
  const Json json = read_json(file);
  PlotLine line{file.stem().string(), {}, {}};
  try {
    for (const auto& row : json.at("rows")) {
      if (row.at("protocol") != enum_name(args.protocol)) continue;
      const double perplexity = row.at("perplexity").is_null() ? NAN : row.at("perplexity").get<double>();
      line.x.push_back(row.at("length"));
      line.y.push_back(args.max_perplexity > 0 && perplexity > args.max_perplexity ? NAN : perplexity);
    }
  } catch (const Json::exception&) {
    throw Error(file.string(), ": expected the output of gyre evaluate extrapolation --json");
  }
  return line;
}

// The score at the largest length that has one; NaN if there is none.
double last_score(const PlotLine& line) {
  for (size_t i = line.y.size(); i-- > 0;) {
    if (std::isfinite(line.y[i])) return line.y[i];
  }
  return NAN;
}

int run(const PlotExtrapolationArgs& args) {
  LinesPlot plot;
  plot.title = "protocol: " + std::string(enum_name(args.protocol));
  plot.x_label = "length (tokens)";
  plot.y_label = "perplexity";
  plot.logarithmic = plot.markers = true;
  for (const Path& file : args.results) {
    PlotLine line = read_line(args, file);
    if (std::isfinite(last_score(line))) plot.lines.push_back(std::move(line));
  }
  // The legend has the order of the curves in the picture.
  std::stable_sort(plot.lines.begin(), plot.lines.end(),
                   [](const PlotLine& a, const PlotLine& b) { return last_score(a) > last_score(b); });
  require(!plot.lines.empty(),
          "[plot] expected a score of the protocol in one of --results, got none: ", enum_name(args.protocol));
  draw_lines(plot, args.output);
  return 0;
}

}  // namespace

void add_plot_extrapolation_command(Program& program) {
  auto args = std::make_shared<PlotExtrapolationArgs>();
  OptionTable& table = program.command("plot extrapolation", "draw perplexity against length, one curve per model",
                                       [args] { return run(*args); });
  table.add("--results", args->results, "FILE...",
            "files from gyre evaluate extrapolation --json, whose names appear in the legend");
  table.required("results");
  table.add_enum("--protocol", args->protocol, "protocol of the scores");
  table.add("--max-perplexity", args->max_perplexity, "NUMBER", "omit perplexities above this; 0: no limit");
  table.add_picture("--output,--out,-o", args->output, "output picture");
}

}  // namespace gyre
