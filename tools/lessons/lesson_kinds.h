// The kinds of lessons.
#pragma once

#include <string_view>
#include <vector>

#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/core/io/json.h"

namespace gyre {

// f = x y + sin(x), on the tape of tools/examples/scalar_tape.
Json scalar_lesson();
// Layer norm composed of the basic ops of autograd/reference.h.
Json matrix_lesson();
// The op of tools/examples/custom_op, with its backward and with one that lacks a term.
Json gradcheck_lesson();

// A function of tensors, recorded on a Tape in f64.
struct TapeLesson {
  std::string_view name;
  std::vector<NamedInput> inputs;
  TapeFunction function;
};
const std::vector<TapeLesson>& tape_lessons();
// The recorded lesson, with finite differences of all elements of the inputs.
Json record_tape_lesson(const TapeLesson& lesson);

// A tensor of numbers with two decimals, which are easy to read; a pure function of the arguments.
Tensor readable_numbers(const Shape& shape, uint64_t stream);

}  // namespace gyre
