// The results of gyre inspect receptive-field as a picture, a table or JSON.
#pragma once

#include <vector>

#include "gyre/core/io/json.h"
#include "tools/inspect/receptive_fields.h"

namespace gyre {

// Draws one curve per field and marks the training lengths.
void draw_receptive_fields(const std::vector<ReceptiveField>& fields, const Path& output);
void print_receptive_fields(const std::vector<ReceptiveField>& fields);
Json receptive_fields_json(const std::vector<ReceptiveField>& fields);
// Writes the curves by distance as JSON.
void write_curves(const std::vector<ReceptiveField>& fields, const Path& file);

}  // namespace gyre
