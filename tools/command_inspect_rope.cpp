// gyre inspect rope: the rotation of rotary positions and its backward as numbers and as a picture, and what they must
// be (Su et al. 2021).
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/device_choice.h"
#include "tools/inspect/rope_inspection.h"
#include "tools/layer_options.h"
#include "tools/plots/heatmaps.h"
#include "tools/program.h"

namespace gyre {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kPrintedDim = 8;  // matrices of more features are only drawn

struct InspectRope {
  int64_t dim = 4;
  std::vector<int32_t> positions{0, 1, 2, 3};
  PositionConfig rope;
  Path plot;
  DeviceChoice device;
  bool json = false;
  OptionTable* table = nullptr;
};

void check(const InspectRope& call) {
  constexpr int64_t kWidest = 512;
  constexpr int32_t kFurthest = 32768;  // finite differences compute the angles of all positions again and again
  constexpr size_t kMost = 64;
  if (call.dim < 2 || call.dim > kWidest) throw UsageError("--dim: expected 2 to ", kWidest, ", got ", call.dim);
  if (call.rope.rotary_dims == 0 && call.dim % 2 != 0)
    throw UsageError("--dim: expected an even number where all features turn (--rotary-dims 0), got ", call.dim);
  if (call.positions.empty() || call.positions.size() > kMost)
    throw UsageError("--positions: expected 1 to ", kMost, " of them, got ", call.positions.size());
  for (const int32_t position : call.positions) {
    if (position < 0 || position > kFurthest)
      throw UsageError("--positions: expected whole numbers from 0 to ", kFurthest, ", got ", position);
  }
  reject_idle_rope_options(*call.table, call.rope);
  Parameters unused;
  as_usage_error([&] { make_position_encoding({call.rope, call.dim, 1, unused, "rope"}); });
}

double entry(const Tensor& matrix, int64_t i, int64_t j) { return matrix.data<double>()[i * matrix.cols() + j]; }

// Of one pair at one position; c and s are those of the matrix that forward multiplies by.
struct Angle {
  int64_t first, second;
  double radians, c, s;
};

std::vector<Angle> angles_at(const RopeInspection& found, size_t place) {
  std::vector<Angle> angles;
  for (size_t i = 0; i < found.frequencies.size(); ++i) {
    const auto [first, second] = rotary_pair(found.rotary, int64_t(i));
    const Tensor& r = found.matrices[place];
    angles.push_back({first, second, found.positions[place] * found.rotary.step * found.frequencies[i],
                      entry(r, first, first), entry(r, second, first)});
  }
  return angles;
}

std::string matrix_row(const Tensor& matrix, int64_t i) {
  std::string text;
  for (int64_t j = 0; j < matrix.cols(); ++j) text += fmt::format(" {:6.3f}", entry(matrix, i, j));
  return text;
}

void print_rotations(const RopeInspection& found, int64_t dim) {
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
    fmt::print("\n{:<{}}    R^T, what backward multiplies by\n", fmt::format("R at position {}", found.positions[p]),
               7 * dim);
    for (int64_t i = 0; i < dim; ++i)
      fmt::print("{}    {}\n", matrix_row(found.matrices[p], i), matrix_row(found.transposes[p], i));
  }
}

void print_scores(const RopeInspection& found) {
  fmt::print("\n(R_m q) . (R_n k) / |q||k| of a random query at m (down) and key at n (across)\n{:>8}", "m \\ n");
  for (const int32_t n : found.positions) fmt::print(" {:>8}", n);
  for (size_t i = 0; i < found.positions.size(); ++i) {
    fmt::print("\n{:>8}", found.positions[i]);
    for (size_t j = 0; j < found.positions.size(); ++j)
      fmt::print(" {:8.4f}", entry(found.scores, int64_t(i), int64_t(j)));
  }
  fmt::print("\n");
}

void print_frequency_gradient(const RopeInspection& found) {
  fmt::print("\ngradient of a random contraction of R x by each frequency, where frequencies are learned\n");
  fmt::print("{:>12} {:>20} {:>20} {:>10}\n", "theta", "analytic", "finite differences", "error");
  for (const GradcheckEntry& e : found.frequency_gradient) {
    fmt::print("{:>12.6g} {:>20.12g} {:>20.12g} {:>10.1e}\n", found.frequencies[size_t(e.index)], e.analytic, e.numeric,
               e.error);
  }
}

void print_text(const InspectRope& call, const RopeInspection& found) {
  const Rotary& r = found.rotary;
  fmt::print("RoPE: {} of {} features turn, pairs {}, base {:g}, scaling {}, step {:g}, magnitude m = {:g}\n", r.dims,
             call.dim, enum_name(r.pairs), call.rope.rope_base, enum_name(call.rope.rope_scaling), r.step, r.magnitude);
  print_rotations(found, call.dim);
  print_scores(found);
  print_frequency_gradient(found);
  fmt::print("\n{:<52} {:>10} {:>10}\n", "check", "deviation", "bound");
  for (const RopeCheck& c : found.checks)
    fmt::print("{:<52} {:>10.1e} {:>10.1e} {}\n", c.what, c.deviation, c.bound, c.passed() ? "passed" : "FAILED");
}

Json rows_of(const Tensor& matrix) {
  Json rows = Json::array();
  for (int64_t i = 0; i < matrix.rows(); ++i) rows.push_back(matrix.slice(i, i + 1).to_vector<double>());
  return rows;
}

Json rotations_of(const RopeInspection& found, int64_t dim) {
  Json rotations = Json::array();
  for (size_t p = 0; p < found.positions.size(); ++p) {
    std::vector<double> radians, c, s;
    for (const Angle& angle : angles_at(found, p)) {
      radians.push_back(angle.radians);
      c.push_back(angle.c);
      s.push_back(angle.s);
    }
    Json one{{"position", found.positions[p]}, {"angles", radians}, {"cos", c}, {"sin", s}};
    if (dim <= kPrintedDim) {
      one["matrix"] = rows_of(found.matrices[p]);
      one["transpose"] = rows_of(found.transposes[p]);
    }
    rotations.push_back(std::move(one));
  }
  return rotations;
}

void print_json(const InspectRope& call, const RopeInspection& found) {
  Json json{{"dim", call.dim},
            {"rotary_dims", found.rotary.dims},
            {"pairs", enum_name(found.rotary.pairs)},
            {"step", found.rotary.step},
            {"magnitude", found.rotary.magnitude},
            {"frequencies", found.frequencies},
            {"rotations", rotations_of(found, call.dim)},
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
  std::cout << json.dump() << '\n';
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

// A column per position: R, and its transpose. Below, their product at the last of them, and the scores of all.
void draw(const RopeInspection& found, const Path& output) {
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
  plot.panels.push_back(panel("scores: m down, n across", found.scores));
  draw_heatmaps(plot, output);
}

int inspect(const InspectRope& call) {
  check(call);
  const RopeInspection found = inspect_rope(call.rope, call.dim, call.positions, call.device.kernels());
  if (!call.plot.empty()) draw(found, call.plot);
  if (call.json) {
    print_json(call, found);
  } else {
    print_text(call, found);
  }
  return found.passed() ? 0 : 1;
}

}  // namespace

void add_inspect_rope_command(Program& program) {
  auto call = std::make_shared<InspectRope>();
  OptionTable& table = program.command(
      "inspect rope",
      "show how rotary positions turn a head, and compare the op's passes with the textbook's; status 1 where they "
      "differ",
      [call] { return inspect(*call); });
  call->table = &table;
  table.add("--dim", call->dim, "FEATURES", "of a head; up to 8 its matrices are printed");
  table.add_custom("--base", 1, 1, "NUMBER", "the same as --rope-base", [call](const std::vector<std::string>& values) {
    parse_value(values.back(), call->rope.rope_base);
  });
  table.add_list("--positions", call->positions, "NUMBER,...", "of tokens");
  add_rope_options(table, call->rope);
  table.add("--plot", call->plot, "FILE",
            "a picture of the matrices of the first three positions, and of the scores by their places in the list, "
            ".png or .svg");
  call->device.add_row(table);
  table.add_flag("--json", call->json, "print one JSON object");
}

}  // namespace gyre
