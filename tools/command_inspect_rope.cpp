// gyre inspect rope: the rotation of rotary positions and its backward as numbers and as a picture, and what they must
// be (Su et al. 2021).
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/device_choice.h"
#include "tools/inspect/rope_report.h"
#include "tools/layer_options.h"
#include "tools/program.h"

namespace gyre {

namespace {

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

int inspect(const InspectRope& call) {
  check(call);
  const RopeInspection found = inspect_rope(call.rope, call.dim, call.positions, call.device.kernels());
  if (!call.plot.empty()) draw_rope(found, call.plot);
  if (call.json) {
    std::cout << rope_json(found).dump() << '\n';
  } else {
    print_rope(found, call.rope);
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
  table.add_picture("--plot", call->plot,
                    "the matrices of the first three positions, and the scores by their places in the list");
  call->device.add_row(table);
  table.add_flag("--json", call->json, "print one JSON object");
}

}  // namespace gyre
