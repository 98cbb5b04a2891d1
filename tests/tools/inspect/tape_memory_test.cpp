// What gyre inspect tape counts as saved is the memory that the forward pass of a model leaves.
#include <doctest/doctest.h>

#include "autograd/tape_rows.h"
#include "core/memory.h"
#include "models/encoder_decoder.h"
#include "tests/kept_blocks.h"
#include "tools/workload.h"

using namespace gyre;

namespace {

bool is_of_the_batch(const SavedTensor& s) { return s.name == "ids"; }

void check_forward(const Workload& work) {
  Tape tape(cpu_kernels(), {.training = true, .seed = 1, .unit_cotangent = true});
  const size_t before = memory_stats().active_bytes;
  work.loss(tape);
  const size_t growth = memory_stats().active_bytes - before;
  const std::vector<TapeRow> rows = tape_rows(tape);
  CHECK(kept_blocks(rows, is_of_the_batch) == growth);
  CHECK(module_totals(rows).front().flops == tape.flops());
}

}  // namespace

TEST_CASE("saved bytes of models are the memory that their forward pass leaves, block by block") {
  EncoderDecoderConfig translator = EncoderDecoderConfig::preset("transformer-tiny");
  EncoderOnlyConfig language = EncoderOnlyConfig::preset("mlm-small");
  translator.vocab_size = language.vocab_size = 300;
  const auto works = [&] {
    std::vector<std::unique_ptr<Workload>> all;
    all.push_back(translation_workload(translator, 3, 7, {}));
    all.push_back(language_workload(language, 2, 9, {}));
    for (const auto& work : all) work->draw(0);
    return all;
  };
  // The kernels keep their buffers, a model the angles of its rotations: other models of the same form warm up.
  for (const auto& work : works()) {
    Tape tape(cpu_kernels(), {.training = true, .seed = 1, .unit_cotangent = true});
    work->loss(tape);
  }
  for (const auto& work : works()) {
    CAPTURE(work->batches());
    check_forward(*work);
  }
}
