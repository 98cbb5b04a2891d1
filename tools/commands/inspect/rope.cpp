// gyre inspect rope: shows the rotation of rotary positions and its backward as numbers and as a picture, and compares
// them with the definition (Su et al. 2021).
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "tools/inspect/rope_inspection.h"
#include "tools/options/computing_options.h"
#include "tools/plots/charts.h"
#include "tools/program.h"
#include "tools/summary.h"

namespace gyre {
namespace {

// ---- The results of gyre inspect rope as text, JSON or a picture ---------------------------------------------------

constexpr int64_t kPrintedDim = 8;  // matrices of more features are only drawn

double entry(const Tensor& matrix, int64_t i, int64_t j) { return matrix.data<double>()[i * matrix.cols() + j]; }

int64_t dim_of(const RopeInspection& found) { return found.matrices.front().rows(); }

// The rotation of one pair at one position. c and s are entries of the forward matrix.
struct Angle {
  int64_t first, second;
  double radians, c, s;
};

std::vector<Angle> angles_at(const RopeInspection& found, size_t place) {
  std::vector<Angle> angles;
  for (size_t i = 0; i < found.frequencies.size(); ++i) {
    const auto [first, second] = rotary_pair(found.rotary, int64_t(i));
    const Tensor& r = found.matrices[place];
    angles.push_back({first, second, found.positions[place] * found.rotary.position_scale * found.frequencies[i],
                      entry(r, first, first), entry(r, second, first)});
  }
  return angles;
}

std::string matrix_row(const Tensor& matrix, int64_t i) {
  std::string text;
  for (int64_t j = 0; j < matrix.cols(); ++j) text += fmt::format(" {:6.3f}", entry(matrix, i, j));
  return text;
}

void print_rotations(const RopeInspection& found) {
  const int64_t dim = dim_of(found);
  const char* factor = found.rotary.magnitude == 1 ? "" : "m ";
  fmt::print("\n{:>8} {:>9} {:>12} {:>12} {:>10} {:>10}\n", "position", "features", "theta", "angle",
             concat(factor, "cos"), concat(factor, "sin"));
  for (size_t p = 0; p < found.positions.size(); ++p) {
    const std::vector<Angle> angles = angles_at(found, p);
    for (size_t i = 0; i < angles.size(); ++i) {
      const Angle& a = angles[i];
      fmt::print("{:>8} {:>9} {:>12.6g} {:>12.6g} {:>10.6f} {:>10.6f}\n", found.positions[p],
                 fmt::format("{},{}", a.first, a.second), found.frequencies[i], a.radians, a.c, a.s);
    }
  }
  if (dim > kPrintedDim) return;
  for (size_t p = 0; p < found.positions.size(); ++p) {
    fmt::print("\n{:<{}}    R^T, the matrix of backward\n", fmt::format("R at position {}", found.positions[p]),
               7 * dim);
    for (int64_t i = 0; i < dim; ++i)
      fmt::print("{}    {}\n", matrix_row(found.matrices[p], i), matrix_row(found.transposes[p], i));
  }
}

void print_scores(const RopeInspection& found) {
  fmt::print("\n(R_m q) . (R_n k) / |q||k| for a random query at m (rows) and key at n (columns)\n{:>8}", "m \\ n");
  for (const int32_t n : found.positions) fmt::print(" {:>8}", n);
  for (size_t i = 0; i < found.positions.size(); ++i) {
    fmt::print("\n{:>8}", found.positions[i]);
    for (size_t j = 0; j < found.positions.size(); ++j)
      fmt::print(" {:8.4f}", entry(found.scores, int64_t(i), int64_t(j)));
  }
  fmt::print("\n");
}

void print_frequency_gradient(const RopeInspection& found) {
  fmt::print("\ngradient of a random contraction of R x with respect to each frequency, as for learned frequencies\n");
  fmt::print("{:>12} {:>20} {:>20} {:>10}\n", "theta", "analytic", "finite differences", "error");
  for (const GradcheckEntry& e : found.frequency_gradient) {
    fmt::print("{:>12.6g} {:>20.12g} {:>20.12g} {:>10.1e}\n", found.frequencies[size_t(e.index)], e.analytic, e.numeric,
               e.error);
  }
}

Json rows_of(const Tensor& matrix) {
  Json rows = Json::array();
  for (int64_t i = 0; i < matrix.rows(); ++i) rows.push_back(matrix.slice(i, i + 1).to_vector<double>());
  return rows;
}

Json rotations_of(const RopeInspection& found) {
  Json rotations = Json::array();
  for (size_t p = 0; p < found.positions.size(); ++p) {
    std::vector<double> radians, c, s;
    for (const Angle& angle : angles_at(found, p)) {
      radians.push_back(angle.radians);
      c.push_back(angle.c);
      s.push_back(angle.s);
    }
    Json one{{"position", found.positions[p]}, {"angles", radians}, {"cos", c}, {"sin", s}};
    if (dim_of(found) <= kPrintedDim) {
      one["matrix"] = rows_of(found.matrices[p]);
      one["transpose"] = rows_of(found.transposes[p]);
    }
    rotations.push_back(std::move(one));
  }
  return rotations;
}

Heatmap panel(const std::string& title, const Tensor& matrix) {
  return {title, size_t(matrix.rows()), size_t(matrix.cols()), matrix.to_vector<double>()};
}

Tensor product(const Tensor& a, const Tensor& b) {
  Tensor c = Tensor::zeros({a.rows(), b.cols()}, DType::f64);
  for (int64_t i = 0; i < a.rows(); ++i) {
    for (int64_t k = 0; k < a.cols(); ++k) {
      for (int64_t j = 0; j < b.cols(); ++j) c.data<double>()[i * b.cols() + j] += entry(a, i, k) * entry(b, k, j);
    }
  }
  return c;
}

void print_rope(const RopeInspection& found, const RopeOptions& options) {
  const RopeShape& r = found.rotary;
  fmt::print("RoPE: {} of {} features rotate, pairs {}, base {:g}, scaling {}, step {:g}, magnitude m = {:g}\n", r.dims,
             dim_of(found), enum_name(r.pairs), options.base, enum_name(options.scaling), r.position_scale,
             r.magnitude);
  print_rotations(found);
  print_scores(found);
  print_frequency_gradient(found);
  fmt::print("\n{:<52} {:>10} {:>10}\n", "check", "deviation", "bound");
  for (const RopeCheck& c : found.checks)
    fmt::print("{:<52} {:>10.1e} {:>10.1e} {}\n", c.what, c.deviation, c.bound, c.passed() ? "passed" : "FAILED");
}

Json rope_json(const RopeInspection& found) {
  Json json{{"dim", dim_of(found)},
            {"rotary_dims", found.rotary.dims},
            {"pairs", enum_name(found.rotary.pairs)},
            {"step", found.rotary.position_scale},
            {"magnitude", found.rotary.magnitude},
            {"frequencies", found.frequencies},
            {"rotations", rotations_of(found)},
            {"scores", rows_of(found.scores)},
            {"frequency_gradient", Json::array()},
            {"checks", Json::array()},
            {"passed", found.passed()}};
  for (const GradcheckEntry& e : found.frequency_gradient) {
    json["frequency_gradient"].push_back({{"frequency", found.frequencies[size_t(e.index)]},
                                          {"analytic", e.analytic},
                                          {"numeric", e.numeric},
                                          {"error", e.error}});
  }
  for (const RopeCheck& c : found.checks)
    json["checks"].push_back(
        {{"check", c.what}, {"deviation", c.deviation}, {"bound", c.bound}, {"passed", c.passed()}});
  return json;
}

// Draws R and its transpose for each of the first three positions, one column per position. The last row has their
// product at the last of these positions and the scores of all positions.
void draw_rope(const RopeInspection& found, const Path& output) {
  const size_t columns = std::min(found.positions.size(), size_t(3));
  HeatmapsPlot plot;
  plot.title = "RoPE: blue -1, white 0, red 1. Forward multiplies by R, backward by its transpose";
  plot.colors = HeatmapColors::signs;
  plot.columns = columns;
  plot.panel = 300;
  for (size_t p = 0; p < columns; ++p)
    plot.panels.push_back(panel(concat("R at position ", found.positions[p]), found.matrices[p]));
  for (size_t p = 0; p < columns; ++p)
    plot.panels.push_back(panel(concat("R^T at position ", found.positions[p]), found.transposes[p]));
  plot.panels.push_back(panel(concat("R^T R at position ", found.positions[columns - 1]),
                              product(found.transposes[columns - 1], found.matrices[columns - 1])));
  plot.panels.push_back(panel("scores: rows m, columns n", found.scores));
  draw_heatmaps(plot, output);
}

struct InspectRopeArgs {
  int64_t dim = 4;
  std::vector<int32_t> positions{0, 1, 2, 3};
  RopeOptions rope;
  Path plot;
  DeviceChoice device;
  bool json = false;
  OptionTable* table = nullptr;
};

void check(const InspectRopeArgs& args) {
  constexpr int64_t kMaxDim = 512;
  constexpr int32_t kMaxPosition = 32768;  // finite differences recompute the angles of all positions many times
  constexpr size_t kMaxCount = 64;
  if (args.dim < 2 || args.dim > kMaxDim) throw UsageError("--dim: expected 2 to ", kMaxDim, ", got ", args.dim);
  if (args.rope.rotary_dims == 0 && args.dim % 2 != 0)
    throw UsageError("--dim: expected an even number if all features rotate (--rotary-dims 0), got ", args.dim);
  if (args.positions.empty() || args.positions.size() > kMaxCount)
    throw UsageError("--positions: expected 1 to ", kMaxCount, " of them, got ", args.positions.size());
  for (const int32_t position : args.positions) {
    if (position < 0 || position > kMaxPosition)
      throw UsageError("--positions: expected whole numbers from 0 to ", kMaxPosition, ", got ", position);
  }
  args.table->reject_unused();
  PositionConfig config("rope");
  config.get<RopeOptions>() = args.rope;
  Parameters unused;
  as_usage_error([&] { make_position_encoding({config, args.dim, 1, unused, "rope"}); });
}

int inspect(const InspectRopeArgs& args) {
  check(args);
  const RopeInspection found = inspect_rope(args.rope, args.dim, args.positions, args.device.kernels());
  if (!args.plot.empty()) draw_rope(found, args.plot);
  if (args.json) {
    print_summary(rope_json(found), true);
  } else {
    print_rope(found, args.rope);
  }
  return found.passed() ? 0 : 1;
}

}  // namespace

void add_inspect_rope_command(Program& program) {
  auto args = std::make_shared<InspectRopeArgs>();
  OptionTable& table =
      program.command("inspect rope", "show the rotation of RoPE and compare the op with its definition",
                      [args] { return inspect(*args); });
  args->table = &table;
  table.add("--dim", args->dim, "FEATURES", "features per head; the matrices are printed for up to 8");
  table.add_custom("--base", 1, 1, "NUMBER", "same as --rope-base",
                   [args](const std::vector<std::string>& values) { parse_value(values.back(), args->rope.base); });
  table.add_list("--positions", args->positions, "NUMBER,...", "positions of the tokens");
  OptionList rope;
  args->rope.declare(rope);
  for (const auto& [option, on_resume, group] : rope.entries())
    if (group.empty()) table.add(option);
  table.add_picture("--plot", args->plot,
                    "picture of the matrices of the first three positions and of the scores of all pairs of positions");
  args->device.add_row(table);
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
