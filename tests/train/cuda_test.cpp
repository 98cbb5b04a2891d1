// Complete training runs on a GPU.
#include <doctest/doctest.h>

#include <sstream>

#include "gyre/train/checkpoint/model_file.h"
#include "gyre/train/tasks/translation/nmt.h"
#include "tests/gpu.h"
#include "tests/temporary_directory.h"
#include "tests/train/tasks/tiny_nmt.h"

namespace gyre::test {
namespace {

class GpuTask {
 public:
  GpuTask() { write_tiny_corpus(directory_.path()); }
  Path run(const std::string& name) const { return directory_ / name; }
  // Starts or resumes run `name`.
  void train(const std::string& name, const std::string& device, const std::string& after) const {
    NmtOptions options = tiny_options(directory_.path(), run(name));
    options.stop.after = Period::parse(after);
    options.data.valid_sets = {directory_ / "valid.src", directory_ / "valid.tgt"};
    options.validation.every = Period::parse("8u");
    options.validation.metrics = {"cross-entropy"};
    options.optimizer.ema = 0.9;
    options.device.name = device;
    SelfCommunicator self;
    train_nmt(options, tiny_config(), self);
  }

 private:
  TemporaryDirectory directory_;
};

void check_curves(const Path& actual, const Path& expected, double tolerance) {
  std::istringstream a(loss_curve(actual)), b(loss_curve(expected));
  int update = 0;
  double x = 0, y = 0;
  while (b >> update >> y) {
    REQUIRE((a >> update >> x));
    CAPTURE(update);
    CHECK(x == doctest::Approx(y).epsilon(tolerance));
  }
}

TEST_CASE("a run on a GPU follows that on a CPU, has the same bits each time, and can be resumed") {
  const Kernels* gpu = test_gpu();
  if (!gpu) return;
  const GpuTask task;
  task.train("cpu", "cpu", "20u");
  task.train("gpu", "cuda", "20u");
  check_curves(task.run("gpu"), task.run("cpu"), 1e-3);
  CHECK(last_state(task.run("gpu")).kernels == gpu->name());
  const auto here = last_state(task.run("cpu")).best, there = last_state(task.run("gpu")).best;
  CHECK(there.at("cross-entropy").value == doctest::Approx(here.at("cross-entropy").value).epsilon(1e-3));

  task.train("again", "cuda:0", "20u");
  CHECK(last_bits(task.run("again")) == last_bits(task.run("gpu")));
  task.train("cut", "cuda", "7u");
  task.train("cut", "cuda", "20u");
  CHECK(last_bits(task.run("cut")) == last_bits(task.run("gpu")));
}

TEST_CASE("a run can be resumed on the other of CPU and GPU") {
  if (!test_gpu()) return;
  const GpuTask task;
  task.train("cpu", "cpu", "12u");
  task.train("moved", "cpu", "4u");
  task.train("moved", "cuda", "8u");
  task.train("moved", "cpu", "12u");
  check_curves(task.run("moved"), task.run("cpu"), 1e-3);
}

}  // namespace
}  // namespace gyre::test
