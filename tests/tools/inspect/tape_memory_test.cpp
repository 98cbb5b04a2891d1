// The saved bytes of gyre inspect tape equal the memory that the forward pass of a model keeps.
#include <doctest/doctest.h>

#include "gyre/autograd/inspect/tape_rows.h"
#include "gyre/core/memory.h"
#include "gyre/models/encoder_decoder.h"
#include "tests/cached_blocks.h"
#include "tools/workload/workload.h"

using namespace gyre;

namespace {

bool is_of_the_batch(const SavedTensor& s) { return s.name == "ids" || s.name == "targets"; }

void check_forward(const Workload& work) {
  Tape tape(cpu_kernels(), {.training = true, .seed = 1, .loss_seeded = true});
  const size_t before = memory_stats().active_bytes;
  work.loss(tape);
  const size_t growth = memory_stats().active_bytes - before;
  const std::vector<TapeRow> rows = tape_rows(tape);
  CHECK(cached_blocks(rows, is_of_the_batch) == growth);
  CHECK(module_totals(rows).front().flops == tape.flops());
}

}  // namespace

TEST_CASE("saved bytes of models equal the memory that their forward pass keeps, block by block") {
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
  // Kernels cache their buffers, and models the angles of their rotations, so models of the same shape run first.
  for (const auto& work : works()) {
    Tape tape(cpu_kernels(), {.training = true, .seed = 1, .loss_seeded = true});
    work->loss(tape);
  }
  for (const auto& work : works()) {
    CAPTURE(work->batches());
    check_forward(*work);
  }
}
