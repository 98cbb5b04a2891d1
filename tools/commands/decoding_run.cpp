#include "tools/commands/decoding_run.h"

#include <cstdio>

#include "gyre/core/clock.h"
#include "gyre/core/option_checks.h"
#include "gyre/train/tasks/translation/decoding.h"

namespace gyre {

void DecodingRun::add_execution_rows(OptionTable& table, const std::string& sentences, const std::string& tokens) {
  table.group("Execution");
  table.add("--mini-batch,--batch-size", batches.sentences, "SENTENCES", "maximum " + sentences + " per batch");
  table.add("--mini-batch-words,--max-tokens", batches.tokens, "TOKENS", "maximum " + tokens + " per batch");
  device.add_row(table);
  precision.add_inference_row(table);
  table.add("--maxi-batch", maxi_batch, "BATCHES",
            "number of batches that are read ahead and sorted by length; 1 has the lowest latency");
  threads.add_row(table);
  table.add_flag("--quiet", quiet, "do not print the model and the time");
}

void DecodingRun::check() const {
  ensemble.check();
  expect_at_least(1, "--mini-batch", batches.sentences);
  expect_at_least(1, "--mini-batch-words", batches.tokens);
  expect_at_least(1, "--maxi-batch", maxi_batch);
}

void DecodingRun::run(const std::function<DecodedLines()>& work) const {
  threads.use();
  const Stopwatch clock;
  if (!quiet) ensemble.print();
  const DecodedLines done = work();
  if (quiet) return;
  std::fprintf(stderr, "%llu lines in %.1f s\n", static_cast<unsigned long long>(done.lines),
               clock.seconds() - done.waited);
}

LoadedDecoder::LoadedDecoder(const DecodingRun& run, DecodeOptions decode, bool allow_unknown)
    : kernels(run.device.kernels()), trained(run.ensemble.load(kernels.device())), options(std::move(decode)) {
  options.precision = run.precision.on(kernels);
  options.packed = packed_weights_for(kernels, options.precision);
  set_vocabulary(options, *trained.vocabulary, allow_unknown);
}

}  // namespace gyre
