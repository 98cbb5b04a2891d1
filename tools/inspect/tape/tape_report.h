// Prints a tape as a table or as JSON. `module` restricts the output to its ops and the leaves that they use; ""
// selects all ops.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/core/io/json.h"

namespace gyre {

// Formats numbers in human-readable units with three significant digits. Consecutive units differ by `factor`. Numbers
// from `most` on use the next unit.
inline std::string in_units(double x, double factor, double most, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  for (; x >= most && unit + 1 != units.end(); ++unit) x /= factor;
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", x, *unit);
  return text;
}

// "812 B", "1.5 KiB", "3 MiB".
inline std::string human_bytes(double bytes) { return in_units(bytes, 1024, 1000, {"B", "KiB", "MiB", "GiB", "TiB"}); }

// A count with an SI prefix, to be followed by a unit: "812 ", "1.5 k", "3 M".
inline std::string human_count(double count) { return in_units(count, 1000, 999.5, {"", "k", "M", "G", "T", "P"}); }

// "85 us", "1.5 ms", "3 s".
inline std::string human_seconds(double seconds) { return in_units(1e6 * seconds, 1000, 999.5, {"us", "ms", "s"}); }

// A recorded backward pass as JSON (gyre inspect step --json). Returns an array with one object per step, in backward
// order: node, op, module, formula, attributes, saved tensors, output, doutput and inputs. A tensor is an object with
// its shape, dtype, range, norm and numbers of NaN and infinite elements; an absent one is null. The gradient of an
// input includes the contribution of the step.
Json steps_json(const std::vector<BackwardStep>& steps);

// The object of a tensor with these statistics.
Json tensor_json(const Shape& shape, DType dtype, const TensorStats& stats);

// The dimensions as an array of numbers.
Json shape_json(const Shape& shape);

// Returns an object with nodes, modules (one for every prefix of the module paths) and totals.
Json tape_json(const std::vector<TapeRow>& rows, const std::string& module);

// The name of a parameter, or of any other node, that an op of this module uses, for readers. In files, the weights of
// all models with one stack are called encoder; the module of a causal one is the decoder.
std::string shown_name(const std::string& name, std::string_view module);
// Likewise the name of a parameter of a step, by the module of the step's first op.
std::string shown_parameter(const std::vector<TapeRow>& rows, const TapeRow& parameter);

// Prints a line per node, then a line per module, up to `depth` path components below `module`.
void print_tape(const std::vector<TapeRow>& rows, const std::string& module, int depth);

// Prints the formula of each op once, in order of appearance.
void print_formulas(const std::vector<TapeRow>& rows, const std::string& module);

}  // namespace gyre
