// gyre inspect rope: shows the rotation of rotary positions and its backward as numbers and as a picture, and compares
// them with the definition (Su et al. 2021).
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/inspect/rope_report.h"
#include "tools/options/device_choice.h"
#include "tools/options/position_options.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {

namespace {

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
  reject_unused_rope_options(*args.table, args.rope);
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
  add_rope_options(table, args->rope);
  table.add_picture("--plot", args->plot,
                    "picture of the matrices of the first three positions and of the scores of all pairs of positions");
  args->device.add_row(table);
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
