// The figures of tools/docs/autodiff.md: small tapes that a reader can walk through in the HTML page.
#pragma once

#include <string_view>

#include "gyre/core/io/json.h"

namespace gyre {

// Records the lesson of this name, and returns the data of its figure, an object with a "kind":
// - "scalars": nodes of a tape of scalars, each with its expression, value, gradient and the derivatives by its inputs
// - "tape": step_json() (tools/page/tape/step_data.h); inputs are named
// - "gradcheck": comparisons of analytic and numeric gradients, element by element
// Throws Error if there is no such lesson.
Json lesson_data(std::string_view name);

}  // namespace gyre
