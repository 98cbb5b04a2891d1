// The kernels that a run records, and whether ranks with different ones can train together.
#include "gyre/train/job.h"

#include <doctest/doctest.h>

#include "gyre/core/kernels/amx.h"

using namespace gyre;

TEST_CASE("the kernels of a run name AMX, which multiplies bf16 with other roundings") {
  const bool before = uses_amx();
  for (Kernels* kernels : available_cpu_kernels()) {
    for (const bool on : {false, true}) {
      use_amx(on);
      CAPTURE(kernels->name());
      const bool multiplies = on && kernels->name() == "cpu_v4";
      CHECK(kernels_text(*kernels, Precision::bf16).ends_with(" with AMX") == multiplies);
      CHECK_FALSE(kernels_text(*kernels, Precision::fp32).ends_with(" with AMX"));
    }
  }
  use_amx(before);
}

TEST_CASE("ranks with different kernels are an error where their weights or the promised bits would differ") {
  const auto conflict = [](const std::vector<std::string>& kernels, const char* optimizer, int zero,
                           bool deterministic) {
    TrainOptions options;
    options.optimizer.kind = optimizer;
    options.parallel.zero = zero;
    options.parallel.deterministic = deterministic;
    return kernels_conflict(kernels, options);
  };
  const std::vector<std::string> same{"cpu_v4", "cpu_v4"}, amx{"cpu_v4 with AMX", "cpu_v4 with AMX", "cpu_v4"};
  CHECK(kernels_difference(same).empty());
  CHECK(kernels_difference(amx) == "rank 0 has cpu_v4 with AMX kernels and rank 2 cpu_v4, which round differently");
  for (const char* optimizer : {"adam", "adamw", "lion", "muon", "normuon"}) {
    CAPTURE(optimizer);
    const bool by_matrices = std::string(optimizer).ends_with("muon");
    for (const int zero : {0, 1, 2}) {
      CAPTURE(zero);
      CHECK(conflict(same, optimizer, zero, true).empty());
      CHECK(conflict(amx, optimizer, zero, true).starts_with("[--deterministic] rank 0 has cpu_v4 with AMX"));
      CHECK(conflict(amx, optimizer, zero, false).empty() == (zero > 0 || !by_matrices));
    }
  }
  CHECK(doctest::String(conflict(amx, "muon", 0, false).c_str()) == doctest::Contains("use --zero 1"));
}
