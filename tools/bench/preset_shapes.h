// The shapes at which the workloads of `gyre bench step` run their ops and products.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/kernels.h"

namespace gyre {

struct PresetShape {
  std::string preset;
  int segments, length;  // of a batch, on one side
  int64_t dim, ffn, vocabulary;
  int heads;
  Activation activation;
  int64_t loss_rows;   // that go through the output projection
  int64_t parameters;  // of the model, about
  int64_t rows() const { return int64_t{segments} * length; }
};

// The one of that name, or all that are of a CPU's size. multi30k-tiny: a typical batch.
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
  throw Error("[bench] there is no preset ", preset);
}

}  // namespace gyre
