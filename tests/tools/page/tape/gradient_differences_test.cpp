#include <doctest/doctest.h>

#include <memory>

#include "tools/page/tape/step_data.h"

using namespace gyre;

namespace {

std::unique_ptr<Workload> tiny_workload() {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("bert-mini");
  config.vocab_size = 20;
  config.layers = 1;
  std::unique_ptr<Workload> work = language_workload(config, 1, 6, {});
  work->draw(0);
  return work;
}

struct RecordedRun {
  std::vector<TapeRow> rows;
  StepRecorder recorder{{}};

  explicit RecordedRun(Workload& work) {
    Tape tape(cpu_kernels(), page_tape_options(Precision::fp32));
    const Var loss = work.loss(tape).loss;
    rows = tape_rows(tape);
    recorder.read_forward(tape);
    tape.add_observer(recorder);
    tape.backward(loss);
  }
};

}  // namespace

TEST_CASE("finite differences of parameters and of op outputs are the gradients, with the same dropout") {
  const std::unique_ptr<Workload> work = tiny_workload();
  const RecordedRun run(*work);
  const std::vector<RecordedNode>& nodes = run.recorder.nodes();
  const auto differences = gradient_differences(*work, cpu_kernels(), run.rows, nodes, 1000);
  size_t parameters = 0, outputs = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const GradientDifference& d : differences[i]) {
      const TensorSample& gradient = *nodes[i].gradient;
      const SampleBlock& block = gradient.blocks[d.row < gradient.blocks[0].rows ? 0 : 1];
      const int64_t place = (d.row - block.row) * block.columns + d.column - block.column;
      const double analytic = double(gradient.values[&block - gradient.blocks.data()][size_t(place)]);
      CHECK(d.value == doctest::Approx(analytic).epsilon(2e-3));
      ++(run.rows[i].leaf ? parameters : outputs);
    }
  }
  CHECK(parameters > 20);
  CHECK(outputs > 10);
}

TEST_CASE("few differences are spread over the tensors, and large models get fewer") {
  const std::unique_ptr<Workload> work = tiny_workload();
  RecordedRun run(*work);
  const auto count = [&](int64_t most) {
    size_t all = 0;
    for (const auto& own : elements_to_measure(run.rows, run.recorder.nodes(), most)) all += own.size();
    return all;
  };
  CHECK(count(0) == 0);
  CHECK(count(5) <= 5);
  CHECK(count(5) >= 3);
  CHECK(count(1000) > 60);
  run.rows[0].flops = 3e9;
  CHECK(count(1000) <= 5);
  run.rows[0].flops = 1e12;
  CHECK(count(1000) == 0);
}
