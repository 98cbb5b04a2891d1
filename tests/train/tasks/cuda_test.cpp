// Compares the scores of translations on a GPU with those on the CPU.
#include <doctest/doctest.h>

#include "gyre/train/tasks/translation/decoding.h"
#include "tests/gpu.h"
#include "tests/models/tiny_model.h"

namespace gyre {

TEST_CASE("scores on a GPU equal those on the CPU") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const test::Sentences sources = test::random_sentences(7, 8, 11, 4), targets = test::random_sentences(7, 8, 11, 5);
  EncoderDecoder here(test::tiny_config()), there(test::tiny_config());
  test::allocate_nonzero(here.parameters(), 5);
  there.parameters().allocate(0, DType::f32, gpu->device());
  there.parameters().values().copy_from(here.parameters().values());
  const auto expected = score_targets(here, cpu_kernels(), sources, targets, {});
  const auto scores = score_targets(there, *gpu, sources, targets, {});
  for (size_t i = 0; i < sources.size(); ++i)
    CHECK(scores[i].score == doctest::Approx(expected[i].score).epsilon(1e-4));
}

}  // namespace gyre
