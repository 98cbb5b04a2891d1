// What gyre inspect receptive-field measured: a picture, a table, JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tools/inspect/receptive_fields.h"

namespace gyre {

// A line for each field; the trained lengths are marked.
void draw_receptive_fields(const std::vector<ReceptiveField>& fields, const Path& output);
void print_receptive_fields(const std::vector<ReceptiveField>& fields);
nlohmann::ordered_json receptive_fields_json(const std::vector<ReceptiveField>& fields);
// The curves as JSON, by distance.
void write_curves(const std::vector<ReceptiveField>& fields, const Path& file);

}  // namespace gyre
