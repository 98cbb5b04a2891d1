// The option of NEZHA's positions (nezha.cpp), which the import from Hugging Face sets.
#pragma once

#include "gyre/models/position/position.h"

namespace gyre {

struct NezhaOptions {
  int64_t clip = 64;  // all longer distances share the row of this one

  void declare(OptionList& list) {
    list.add(OnResume::another_model, "--nezha-clip", &clip, "TOKENS", "longer distances share the row of this one");
  }
};

}  // namespace gyre
