// The kinds of lessons.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "gyre/autograd/gradcheck/gradcheck.h"

namespace gyre {

// f = x y + sin(x), on the tape of tools/examples/scalar_tape.
nlohmann::ordered_json scalar_lesson();
// Layer norm composed of the basic ops of autograd/reference.h.
nlohmann::ordered_json matrix_lesson();
// The op of tools/examples/custom_op, with its backward and with one that lacks a term.
nlohmann::ordered_json gradcheck_lesson();

// A function of tensors, recorded on a Tape in f64.
struct TapeLesson {
  std::string_view name;
  std::vector<NamedInput> inputs;
  TapeFunction function;
};
const std::vector<TapeLesson>& tape_lessons();
// With finite differences of all elements of the inputs.
nlohmann::ordered_json record_tape_lesson(const TapeLesson& lesson);

// A tensor of numbers with two decimals, which are easy to read; a pure function of the arguments.
Tensor readable_numbers(const Shape& shape, uint64_t stream);

}  // namespace gyre
