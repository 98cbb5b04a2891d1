// The results of gyre inspect rope as text, JSON or a picture.
#pragma once

#include "gyre/core/io/file.h"
#include "gyre/core/io/json.h"
#include "tools/inspect/rope_inspection.h"

namespace gyre {

void print_rope(const RopeInspection& found, const RopeOptions& options);
Json rope_json(const RopeInspection& found);
// Draws R and its transpose for each of the first three positions, one column per position. The last row has their
// product at the last of these positions and the scores of all positions.
void draw_rope(const RopeInspection& found, const Path& output);

}  // namespace gyre
