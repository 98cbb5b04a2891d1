#include "tools/model_choice.h"

#include <cstdio>

#include "train/model_file.h"

namespace gyre {

void print_model_choice(const Path& model, const std::string& checkpoint) {
  std::fprintf(stderr, "model: %s\n", describe_model(model, checkpoint).c_str());
}

}  // namespace gyre
