// Refuses weights that are infinite or NaN, for example of a training that diverged.
#pragma once

#include <span>

#include "gyre/core/io/safetensors.h"

namespace gyre {

// Throws an Error that names the file and the tensor unless all elements of the tensors that `target_name` maps to a
// name are finite, as f32.
void require_finite(std::span<const SafetensorsFile> files, const TargetName& target_name);

}  // namespace gyre
