// Shapes of the ops and matrix products in the workloads of `gyre bench step`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/kernels/kernels.h"

namespace gyre {

struct PresetShape {
  std::string preset;
  int segments, length;  // numbers per batch, on one side
  int64_t dim, ffn, vocabulary;
  int heads;
  Activation activation;
  int64_t loss_rows;   // rows of the output projection
  int64_t parameters;  // approximate number of parameters
  int64_t rows() const { return int64_t{segments} * length; }
};

// Returns the shape of this preset, or those of all presets for CPUs if it is "all". multi30k-tiny has the shape of a
// typical batch. Throws Error for an unknown name.
inline std::vector<PresetShape> preset_shapes(const std::string& preset) {
  using enum Activation;
  std::vector<PresetShape> all{{"mlm-small", 16, 256, 256, 1024, 8192, 4, gelu, 614, 5'300'000},
                               {"lm-small", 8, 512, 256, 1024, 8192, 4, gelu, 4096, 5'260'000},
                               {"nmt-base", 16, 32, 512, 2048, 32768, 8, relu, 512, 60'900'000},
                               {"multi30k-tiny", 256, 14, 128, 256, 10000, 4, relu, 3584, 2'600'000}};
  if (preset == "all") return all;
  all.insert(all.end(), {{"nmt-base-25k", 833, 30, 512, 2048, 32768, 8, relu, 24990, 60'900'000},
                         {"nmt-big-25k", 833, 30, 1024, 4096, 32768, 16, relu, 24990, 209'900'000},
                         {"mlm-base-32k", 64, 512, 768, 3072, 30522, 12, gelu, 4915, 109'100'000}});
  for (const PresetShape& shape : all)
    if (shape.preset == preset) return {shape};
  throw Error("[bench] expected a known preset, got ", preset);
}

}  // namespace gyre
