// Finite differences of the gradients on a page, and the samples of its tensors.
#include "tools/page/tape/step_data.h"

#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gyre/core/io/json.h"
#include "tools/page/tape/step_recorder.h"

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

// ---- Samples of tensors
// ----------------------------------------------------------------------------------------------

namespace {

Tensor counting(const Shape& shape) {
  std::vector<float> values(size_t(shape.elements()));
  std::iota(values.begin(), values.end(), 0.0F);
  return Tensor::from(shape, values);
}

}  // namespace

TEST_CASE("small tensors are sampled whole, as base64 of little-endian fp32") {
  const TensorSample sample = sample_tensor(Tensor::from<float>({1, 2}, std::vector<float>{1, -2}), {});
  REQUIRE(sample.blocks.size() == 1);
  const Json json = sample_json(sample);
  CHECK(json.dump() ==
        R"({"shape":[1,2],"dtype":"f32","min":-2.0,"max":1.0,"norm":2.23606797749979,"nan":0,"infinite":0,)"
        R"("blocks":[{"row":0,"column":0,"rows":1,"columns":2,"data":"AACAPwAAAMA="}]})");
}

TEST_CASE("larger tensors keep the first rows, and the rest of the first columns") {
  const TensorSample sample = sample_tensor(counting({2, 3, 4}), {.whole = 20, .lines = 2});
  REQUIRE(sample.blocks.size() == 2);
  CHECK(sample.values[0] == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(sample.blocks[1].row == 2);
  CHECK(sample.values[1] == std::vector<float>{8, 9, 12, 13, 16, 17, 20, 21});
}

TEST_CASE("rows and columns of samples are limited in length") {
  const SampleLimits limits{.whole = 4, .lines = 1, .longest = 3};
  const TensorSample row = sample_tensor(counting({8}), limits), column = sample_tensor(counting({8, 1}), limits);
  REQUIRE(row.blocks.size() == 1);
  CHECK(row.values[0] == std::vector<float>{0, 1, 2});
  REQUIRE(column.blocks.size() == 2);
  CHECK(column.values[1] == std::vector<float>{1, 2, 3});
}

TEST_CASE("samples convert ids to fp32 and take scalars and empty tensors") {
  CHECK(sample_tensor(Tensor::from<int32_t>({2}, std::vector<int32_t>{7, 9}), {}).values[0] ==
        std::vector<float>{7, 9});
  CHECK(sample_tensor(Tensor::from<float>(Shape{}, std::vector<float>{3}), {}).values[0] == std::vector<float>{3});
  CHECK(sample_tensor(Tensor::zeros({0, 4}), {}).values[0].empty());
}
