// The option of NEZHA's positions (nezha.cpp), which the import from Hugging Face sets.
#pragma once

#include "gyre/models/position/position.h"

namespace gyre {

struct NezhaOptions {
  int64_t clip = 64;  // all longer distances share the row of this one

  std::vector<PositionOption> describe() {
    return {
        {.name = "nezha_clip", .value = &clip, .unit = "TOKENS", .help = "longer distances share the row of this one"}};
  }
};

}  // namespace gyre
