// Complete training runs on a GPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/optim/optimizer.h"
#include "gyre/train/optim/update_rule.h"
#include "gyre/train/tasks/translation/decoding.h"
#include "gyre/train/tasks/translation/nmt.h"
#include "tests/gpu.h"
#include "tests/models/tiny_model.h"
#include "tests/temporary_directory.h"
#include "tests/train/optim/packed_part.h"
#include "tests/train/optim/relative_difference.h"
#include "tests/train/tasks/tiny_tasks.h"

namespace gyre::test {
namespace {

struct GpuTask : TemporaryDirectory {
  GpuTask() { write_tiny_corpus(path()); }
  // Starts or resumes run `name`.
  void train(const std::string& name, const std::string& device, const std::string& after, int max_skipped = 10) const {
    NmtOptions options = tiny_options(path(), *this / name);
    options.stop.after = Period::parse(after);
    options.stop.max_skipped = max_skipped;
    options.data.valid_sets = {*this / "valid.src", *this / "valid.tgt"};
    options.validation.every = Period::parse("8u");
    options.validation.metrics = {"cross-entropy"};
    options.optimizer.ema = 0.9;
    options.device.name = device;
    test::train(options);
  }
};

// The runs are short, because the emulated GPU is slow. They pass a validation, after update 8.
TEST_CASE("a run on a GPU follows that on a CPU, and has the same bits if it is resumed") {
  const Kernels* gpu = test_gpu();
  if (!gpu) return;
  const GpuTask task;
  task.train("cpu", "cpu", "12u");
  task.train("gpu", "cuda", "12u");
  check_close_curves(task / "gpu", task / "cpu", 1e-3);
  CHECK(last_state(task / "gpu").kernels == gpu->name());
  const auto here = last_state(task / "cpu").best, there = last_state(task / "gpu").best;
  CHECK(there.at("cross-entropy").value == doctest::Approx(here.at("cross-entropy").value).epsilon(1e-3));

  task.train("cut", "cuda:0", "5u");
  task.train("cut", "cuda:0", "12u");
  CHECK(last_bits(task / "cut") == last_bits(task / "gpu"));
}

TEST_CASE("a run can be resumed on the other of CPU and GPU") {
  if (!test_gpu()) return;
  const GpuTask task;
  task.train("cpu", "cpu", "12u");
  task.train("moved", "cpu", "4u");
  task.train("moved", "cuda", "8u");
  task.train("moved", "cpu", "12u");
  check_close_curves(task / "moved", task / "cpu", 1e-3);
}

// Sets an environment variable during its lifetime.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

TEST_CASE("a GPU skips the same updates as a CPU, and names the one that ends the run") {
  if (!test_gpu()) return;
  const GpuTask task;
  const Environment fault("GYRE_FAULT", "0 5 backward nan");
  task.train("cpu", "cpu", "8u");
  task.train("gpu", "cuda", "8u");
  check_close_curves(task / "gpu", task / "cpu", 1e-3);
  CHECK(last_state(task / "gpu").optimizer_step == 7);
  task.train("cut", "cuda", "5u");  // ends with the skipped update
  CHECK(last_state(task / "cut").optimizer_step == 4);
  task.train("cut", "cuda", "8u");
  CHECK(last_bits(task / "cut") == last_bits(task / "gpu"));
  CHECK_THROWS_WITH_AS(task.train("ended", "cuda", "8u", 0),
                       doctest::Contains("in 1 updates in a row, up to update 5 (--max-skipped)"), Error);
}

// Parameters with and without weight decay, and a frozen one, and an optimizer on a device.
struct SmallModel {
  SmallModel(Kernels& kernels, const std::string& rule, double scale, bool packed) {
    parameters.add("matrix", {70, 50}, Init::normal(1)).matrix_rows = {30, 40};
    parameters.add("wide", {6, 35}, Init::normal(1)).matrix_rows = {6};
    parameters.add("frozen", {31}, Init::normal(1));
    parameters.add("bias", {50}, Init::normal(1), false);
    parameters.allocate(7, DType::f32, kernels.device());
    parameters[2].trainable = false;
    OptimizerOptions options;
    options.kind = rule;
    options.rate_factors = {{"wide", 0.5}};
    options.weight_decay = 0.1;
    options.clip_norm = 0.5;
    options.ema = 0.9;
    const PackedPart part(parameters, parameters[1].offset);
    Optimizer optimizer(parameters, kernels, options, packed ? &part : nullptr);
    // Gradients of full rank: at low rank, Muon's orthogonalization in fp32 differs by up to 5e-4 between devices.
    for (const double factor : {1.0, scale, 1.0}) {
      for (const Parameter& p : parameters) {
        std::vector<float> numbers(size_t(p.value.size()));
        for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = float(std::sin(double(i * i) + 1) * factor);
        const Tensor gradient = packed ? part.gradient(p) : p.gradient;
        if (gradient) gradient.copy_from(Tensor::from(p.shape, numbers).to(kernels.device()));
      }
      last = optimizer.update(3);
      accepted.push_back(last.accepted);
      CHECK(largest(packed ? part.packed_gradients() : parameters.gradients()) == 0);
    }
    tensors = {parameters.values().to_cpu()};
    for (const Parameter& p : parameters) tensors.push_back(optimizer.average(p).read().to_cpu());
    for (const StateTensor& t : optimizer.state()) tensors.push_back(t.read().to_cpu());
  }
  static float largest(const Tensor& t) {
    float most = 0;
    for (const float x : t.to_cpu().to_vector<float>()) most = std::max(most, std::abs(x));
    return most;
  }

  Parameters parameters;
  UpdateInfo last;
  std::vector<bool> accepted;
  std::vector<Tensor> tensors;  // values, averages and state after the updates
};

TEST_CASE("optimizers compute the same on a GPU as on a CPU, also if they skip an update") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  const auto check = [gpu](const std::string& rule, double scale, bool packed = false) {
    CAPTURE(rule);
    CAPTURE(scale);
    CAPTURE(packed);
    const SmallModel here(cpu_kernels(), rule, scale, packed), there(*gpu, rule, scale, packed);
    CHECK(here.accepted == there.accepted);
    CHECK(here.accepted[1] == (scale != scale ? false : true));
    CHECK(there.last.gradient_norm == doctest::Approx(here.last.gradient_norm));
    REQUIRE(here.tensors.size() == there.tensors.size());
    for (size_t t = 0; t < here.tensors.size(); ++t) {
      const auto expected = here.tensors[t].to_vector<float>(), actual = there.tensors[t].to_vector<float>();
      double largest = 0;
      for (const float x : expected) largest = std::max(largest, std::abs(double(x)));
      for (size_t i = 0; i < expected.size(); ++i)
        REQUIRE(std::abs(double(actual[i]) - double(expected[i])) <= 1e-4 * largest);
    }
  };
  for (const double scale : {2.0, double(NAN), 1e30}) check("adamw", scale);
  for (const char* rule : {"lion", "muon", "normuon"}) {
    for (const double scale : {2.0, double(NAN)}) check(rule, scale);
  }
  for (const char* rule : {"adamw", "lion", "normuon"}) check(rule, 2, true);
}

}  // namespace
}  // namespace gyre::test

// ---- Muon on a GPU -------------------------------------------------------------------------------------------------

namespace gyre::test {

TEST_CASE("orthogonalization on a GPU has about the result of f64, in every precision of the products") {
  Kernels* gpu = test_gpu();
  if (!gpu) return;
  for (const Shape& shape : {Shape{24, 40}, Shape{40, 24}, Shape{17, 9}}) {
    CAPTURE(to_string(shape));
    std::vector<double> numbers(size_t(shape.elements()));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(double(i * i) + 1);
    const Tensor x = Tensor::from(shape, numbers);
    const Tensor exact = orthogonalize(cpu_kernels(), x, Precision::fp32);
    for (const auto& [precision, tolerance] :
         {std::pair(Precision::fp32, 1e-4), std::pair(Precision::tf32, 0.02), std::pair(Precision::bf16, 0.06)}) {
      const Tensor y = orthogonalize(*gpu, x.to(DType::f32).to(gpu->device()), precision);
      CHECK(relative_difference(y, exact) < tolerance);
    }
  }
}

}  // namespace gyre::test

// ---- Compares the scores of translations on a GPU with those on the CPU --------------------------------------------

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
