// gyre plot extrapolation: perplexity against length, of what gyre evaluate extrapolation --json wrote.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/plots/lines.h"
#include "tools/program.h"
#include "train/extrapolation.h"
#include "train/trained_model.h"

namespace gyre {

namespace {

struct PlotExtrapolation {
  std::vector<Path> results;
  Path output = "extrapolation.png";
  LengthProtocol protocol = LengthProtocol::full;
  double most = 0;
};

// Named after its file. A length without a score is a gap.
PlotLine read_line(const PlotExtrapolation& call, const Path& file) {
  const nlohmann::ordered_json json = read_json(file);
  PlotLine line{file.stem().string(), {}, {}};
  try {
    for (const auto& row : json.at("rows")) {
      if (row.at("protocol") != enum_name(call.protocol)) continue;
      const double perplexity = row.at("perplexity").is_null() ? NAN : row.at("perplexity").get<double>();
      line.x.push_back(row.at("length"));
      line.y.push_back(call.most > 0 && perplexity > call.most ? NAN : perplexity);
    }
  } catch (const nlohmann::json::exception&) {
    throw Error(file.string(), ": expected what gyre evaluate extrapolation --json writes");
  }
  return line;
}

// At the largest length that has one; NaN where none has.
double last_score(const PlotLine& line) {
  for (size_t i = line.y.size(); i-- > 0;) {
    if (std::isfinite(line.y[i])) return line.y[i];
  }
  return NAN;
}

int run(const PlotExtrapolation& call) {
  LinesPlot plot;
  plot.title = "protocol: " + std::string(enum_name(call.protocol));
  plot.x_label = "length (tokens)";
  plot.y_label = "perplexity";
  plot.logarithmic = plot.markers = true;
  for (const Path& file : call.results) {
    PlotLine line = read_line(call, file);
    if (std::isfinite(last_score(line))) plot.lines.push_back(std::move(line));
  }
  // In the key as they lie in the picture.
  std::stable_sort(plot.lines.begin(), plot.lines.end(),
                   [](const PlotLine& a, const PlotLine& b) { return last_score(a) > last_score(b); });
  require(!plot.lines.empty(), "[plot] no result has a score by the protocol ", enum_name(call.protocol));
  draw_lines(plot, call.output);
  return 0;
}

}  // namespace

void add_plot_extrapolation_command(Program& program) {
  auto call = std::make_shared<PlotExtrapolation>();
  OptionTable& table = program.command("plot extrapolation", "draw perplexity against length, a line for each model",
                                       [call] { return run(*call); });
  table.add("--results", call->results, "FILE...",
            "from gyre evaluate extrapolation --json; their names stand in the key");
  table.required("results");
  table.add_enum("--protocol", call->protocol, "which scores");
  table.add("--most", call->most, "NUMBER", "perplexities above it are left out; 0: none");
  table.add_picture("--output,--out,-o", call->output, "the picture");
}

}  // namespace gyre
