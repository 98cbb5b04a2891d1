// The FLOPs of an update, counted by hand.
#include "gyre/train/step.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/io/json.h"
#include "gyre/train/parallel/communicator.h"

using namespace gyre;

namespace {

constexpr int kRows = 5, kInputs = 4, kHidden = 16, kClasses = 8;

// Two linear layers, of which the first may be frozen or computed again in backward.
class TwoLayers final : public TrainingModel {
 public:
  TwoLayers(bool freezes_first, bool recomputes) : recomputes_(recomputes) {
    first_.trainable = !freezes_first;
    parameters_.allocate(1);
  }
  Parameters& parameters() override { return parameters_; }
  std::string describe() const override { return "two layers"; }
  Json config() const override { return {}; }
  LossResult loss(Tape& tape) {
    const auto hidden = [&] {
      return relu(linear(tape.constant(Tensor::zeros({kRows, kInputs})), tape.parameter(first_)));
    };
    const Var x = recomputes_ ? tape.checkpoint(Recompute::block, hidden) : hidden();
    return linear_cross_entropy(x, tape.parameter(second_), {},
                                Tensor::from<int32_t>({kRows}, std::vector<int32_t>(kRows, 1)));
  }

 private:
  Parameters parameters_;
  Parameter& first_ = parameters_.add("first", {kHidden, kInputs}, Init::normal(1));
  Parameter& second_ = parameters_.add("second", {kClasses, kHidden}, Init::normal(1));
  bool recomputes_;
};

double flops_of_update(bool freezes_first, bool recomputes, int micro_batches) {
  SelfCommunicator self;
  TwoLayers model(freezes_first, recomputes);
  GradientReducer reducer(self, cpu_kernels(), model.parameters(), {.micro_batches = micro_batches});
  Optimizer optimizer(model.parameters(), cpu_kernels(), {}, &reducer);
  TrainStep step(model, optimizer, reducer, cpu_kernels(), self,
                 {.micro_batches = micro_batches, .recompute = recomputes ? Recompute::block : Recompute::none});
  RankBatch batch;
  for (int i = 0; i < micro_batches; ++i)
    batch.micro_batches.push_back({[&model](Tape& tape) { return model.loss(tape); }, kRows});
  batch.predictions = uint64_t(micro_batches * kRows);
  StepSeconds seconds;
  return step
      .run(
          0, [&]() -> const RankBatch& { return batch; }, seconds)
      .flops;
}

}  // namespace

TEST_CASE("an update counts the products of forward and backward, without frozen weights and recomputation") {
  constexpr double kFirst = 2.0 * kRows * kInputs * kHidden, kSecond = 2.0 * kRows * kHidden * kClasses;
  for (const int micro_batches : {1, 3}) {
    // The first layer has no gradient of its input, which is constant.
    const double all = micro_batches * (2 * kFirst + 3 * kSecond);
    CHECK(flops_of_update(false, false, micro_batches) == all);
    CHECK(flops_of_update(false, true, micro_batches) == all);
    // Without gradients in the first layer, the second one needs no gradient of its input either.
    CHECK(flops_of_update(true, false, micro_batches) == micro_batches * (kFirst + 2 * kSecond));
  }
}
