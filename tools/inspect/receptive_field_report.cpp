#include "tools/inspect/receptive_field_report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "gyre/core/io/json.h"
#include "gyre/train/analysis/receptive_field.h"
#include "tools/plots/lines.h"

namespace gyre {
namespace {

constexpr double kHeld[] = {0.5, 0.9, 0.99};

// Distances grow by at least 3 %, which is as fine as the picture can show.
PlotLine line_of(const ReceptiveField& field) {
  PlotLine line{field.name, {}, {}};
  for (size_t t = 0; t < field.cumulative.size(); t = std::max(t + 1, size_t(double(t) * 1.03))) {
    line.x.push_back(double(t + 1));
    line.y.push_back(field.cumulative[t]);
  }
  line.x.push_back(double(field.cumulative.size()));
  line.y.push_back(field.cumulative.back());
  return line;
}

}  // namespace

void draw_receptive_fields(const std::vector<ReceptiveField>& fields, const Path& output) {
  LinesPlot plot;
  plot.title = "receptive field: cumulative normalized gradient";
  plot.x_label = "tokens back, including the last one";
  plot.y_label = "share of the gradient of the next token's prediction";
  plot.shares = plot.powers_of_two = true;
  size_t longest = 0;
  std::set<int> trained_lengths;
  for (const ReceptiveField& field : fields) {
    plot.lines.push_back(line_of(field));
    longest = std::max(longest, field.cumulative.size());
    trained_lengths.insert(field.trained_length);
  }
  for (const int trained : trained_lengths) {
    if (trained > 0 && size_t(trained) <= longest)
      plot.marks.push_back({double(trained), concat("training length ", trained)});
  }
  draw_lines(plot, output);
}

Json receptive_fields_json(const std::vector<ReceptiveField>& fields) {
  Json all = Json::array();
  for (const ReceptiveField& field : fields) {
    const bool trained = field.trained_length > 0;
    Json one{{"name", field.name}, {"position", field.position}, {"length", field.cumulative.size()}};
    one["trained_length"] = trained ? Json(field.trained_length) : nullptr;
    one["last_token"] = field.cumulative.front();
    for (const double share : kHeld)
      one[fmt::format("distance_{:g}", 100 * share)] = distance_reaching(share, field.cumulative);
    one["beyond_training"] = trained ? Json(field.beyond_training()) : nullptr;
    all.push_back(std::move(one));
  }
  return all;
}

void print_receptive_fields(const std::vector<ReceptiveField>& fields) {
  fmt::print(
      "distance within which the tokens hold a share of the gradient; share of the last token itself, and of those "
      "beyond the training length\n{:<32} {:>7} {:>7} {:>7} {:>7} {:>10} {:>7}\n",
      "model", "length", "50 %", "90 %", "99 %", "last token", "beyond");
  for (const ReceptiveField& field : fields) {
    fmt::print("{:<32} {:>7}", field.name, field.cumulative.size());
    for (const double share : kHeld) fmt::print(" {:>7}", distance_reaching(share, field.cumulative));
    fmt::print(" {:>8.1f} %", 100 * field.cumulative.front());
    fmt::print("{}\n", field.trained_length > 0 ? fmt::format(" {:>5.1f} %", 100 * field.beyond_training()) : "");
  }
}

void write_curves(const std::vector<ReceptiveField>& fields, const Path& file) {
  Json curves = Json::array();
  for (const ReceptiveField& field : fields)
    curves.push_back({{"name", field.name}, {"position", field.position}, {"cumulative", field.cumulative}});
  write_file(file, json_text({{"curves", curves}}) + "\n");
}

}  // namespace gyre
