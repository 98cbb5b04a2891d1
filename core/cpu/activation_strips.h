// Activations and their derivatives in strips of numbers. They are compiled once per activation and type of the
// arithmetic, not in every loop that applies one: the loops give them strips that are in the first-level cache.
#pragma once

#include <cstdint>

#include "gyre/core/kernels/arguments.h"

namespace gyre::GYRE_CPU_NAMESPACE {

// y[i] = act(x[i]) for i < n; y may be x. C is float or double.
template <class C>
void activate_strip(C* y, const C* x, int64_t n, Activation kind);
// slopes[i] = act'(x[i]) for i < n; slopes may be x.
template <class C>
void activation_slopes(C* slopes, const C* x, int64_t n, Activation kind);

}  // namespace gyre::GYRE_CPU_NAMESPACE
