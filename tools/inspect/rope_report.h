// What gyre inspect rope found: text, JSON, a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/file.h"
#include "tools/inspect/rope_inspection.h"

namespace gyre {

void print_rope(const RopeInspection& found, const PositionConfig& config);
nlohmann::ordered_json rope_json(const RopeInspection& found);
// A column for each of the first three positions: R, and its transpose. Below, their product at the last of them, and
// the scores of all.
void draw_rope(const RopeInspection& found, const Path& output);

}  // namespace gyre
