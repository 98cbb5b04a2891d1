// Settings of the emulated cublasLt, for tests of the code that calls it.
#pragma once

namespace cuda_emulation {

struct ProductLibrary {
  bool has_epilogues = true;        // if not, no algorithm has a bias
  bool accepts_other_sizes = true;  // if not, an algorithm only computes the sizes that it was chosen for
  int choices = 0;                  // calls of cublasLtMatmulAlgoGetHeuristic()
};
ProductLibrary& product_library();

}  // namespace cuda_emulation
