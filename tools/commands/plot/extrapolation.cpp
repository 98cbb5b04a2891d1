// gyre plot extrapolation: draws perplexity against length, from the output of gyre evaluate extrapolation --json.
#include "gyre/train/analysis/extrapolation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/train/pretrained/trained_model.h"
#include "tools/plots/lines.h"
#include "tools/program.h"

namespace gyre {

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
  } catch (const nlohmann::json::exception&) {
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
