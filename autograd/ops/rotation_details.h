// Attributes and angles of a rotation, for the inspection of rope() and attention.
#pragma once

#include "gyre/autograd/tape.h"
#include "gyre/core/kernels/arguments.h"

namespace gyre {

inline void describe_rotation(OpMetadata& metadata, const RopeShape& rotary) {
  metadata.attribute("rotary", rotary.dims);
  if (rotary.pairs == RotaryPairs::half_split) metadata.attribute("pairs", "half-split");
  if (rotary.magnitude != 1) metadata.attribute("magnitude", rotary.magnitude);
  if (rotary.position_scale != 1) metadata.attribute("step", rotary.position_scale);
}

// The angles of rows with these positions, from -pi to pi: (rows, dims/2), f32 on the CPU. angles: as in RopeAngles.
Tensor rotation_angles(const Tensor& angles, const Tensor& positions, const RopeShape& rotary);

}  // namespace gyre
