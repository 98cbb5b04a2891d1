// The functions of elements (core/kernels/element_formulas.inc) in loops that the compiler can vectorize.
#pragma once

#include <cmath>
#include <numbers>

#include "gyre/core/cpu/vector_math.h"
#include "gyre/core/float16.h"
#include "gyre/core/kernels/arguments.h"

#define GYRE_ELEMENT

namespace gyre::GYRE_CPU_NAMESPACE {
#include "gyre/core/kernels/element_formulas.inc"
}  // namespace gyre::GYRE_CPU_NAMESPACE

#undef GYRE_ELEMENT
