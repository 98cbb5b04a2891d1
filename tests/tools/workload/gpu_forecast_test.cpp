// Predictions for GPUs: the work of single layers by hand, the FLOPs and the memory of a model as on the CPU, plans.
#include "tools/workload/gpu_forecast.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "gyre/core/host_copy.h"
#include "gyre/core/virtual_gpu/virtual_gpu.h"
#include "tools/workload/gpu_plan.h"
#include "tools/workload/plan.h"

namespace gyre {
namespace {

constexpr double kMega = 1e6;

EncoderDecoderConfig small_config() {
  EncoderDecoderConfig config = EncoderDecoderConfig::preset("transformer-tiny");
  config.vocab_size = 1000;
  return config;
}

std::unique_ptr<Workload> small_workload(int pairs, Device device) {
  return translation_workload(small_config(), pairs, 20, {device});
}

struct Totals {
  double products = 0, product_flops = 0;
  int launches = 0, waits = 0;
};

Totals totals_of(const std::function<void()>& call) {
  Totals totals;
  const GpuWorkScope scope([&](const GpuWork& work) {
    if (work.kind == GpuWork::Kind::wait) return void(++totals.waits);
    totals.launches += work.launches;
    if (work.kind != GpuWork::Kind::product) return;
    ++totals.products;
    totals.product_flops += work.flops;
  });
  call();
  return totals;
}

Tensor on_gpu(const Shape& shape, DType dtype) { return Tensor::empty(shape, dtype, kVirtualGpu); }

}  // namespace

TEST_CASE("virtual GPU: the work of a linear layer") {
  const int64_t n = 7, d = 16, o = 32;
  const Tensor x = on_gpu({n, d}, DType::bf16), y = on_gpu({n, o}, DType::bf16);
  const Tensor w = on_gpu({o, d}, DType::f32), bias = on_gpu({o}, DType::f32);
  Kernels& kernels = virtual_kernels();
  const Totals forward = totals_of([&] { kernels.linear(y, x, w, bias); });
  CHECK(forward.products == 1);
  CHECK(forward.product_flops == 2 * n * d * o);
  CHECK(forward.launches == 3);  // weights and bias are rounded
  const Totals backward = totals_of([&] { kernels.linear_backward(x.like(), w.like(), bias.like(), y, x, w, {}); });
  CHECK(backward.products == 2);
  CHECK(backward.product_flops == 4 * n * d * o);
  CHECK(backward.launches == 5);
  CHECK(totals_of([&] { kernels.linear(y.slice(0, 0), x.slice(0, 0), w, {}); }).products == 0);
}

TEST_CASE("virtual GPU: the wait for a figure does not wait for the work behind its copy") {
  std::vector<GpuWork> reported;
  const GpuWorkScope scope([&](const GpuWork& work) { reported.push_back(work); });
  const HostCopy copy(on_gpu({3}, DType::f64));
  CHECK(copy.wait().to_vector<double>() == std::vector<double>(3));
  REQUIRE(reported.size() == 2);
  CHECK(reported[0].kind == GpuWork::Kind::readback);
  CHECK(reported[1].kind == GpuWork::Kind::wait);
  CHECK(reported[0].readback != 0);
  CHECK(reported[1].readback == reported[0].readback);
}

TEST_CASE("virtual GPU: sums of columns have the blocks of the kernels") {
  const auto bytes = [](int64_t rows, int64_t columns) {
    const Tensor dy = on_gpu({rows, columns}, DType::bf16), w = on_gpu({columns, 16}, DType::f32);
    const Tensor x = on_gpu({rows, 16}, DType::bf16), dbias = on_gpu({columns}, DType::f32);
    double partial = -double(dy.bytes());
    const GpuWorkScope scope([&](const GpuWork& work) { partial += work.name == "bias gradient" ? work.bytes : 0; });
    virtual_kernels().linear_backward({}, {}, dbias, dy, x, w, {});
    return partial / 2;  // written and read
  };
  CHECK(bytes(25000, 512) == 1563 * 512 * 4);
  CHECK(bytes(16384, 32000) == 512 * 32000.0 * 4);
}

TEST_CASE("virtual GPU: tensors have no elements, and copies to the CPU wait") {
  const size_t before = virtual_memory_stats().active_bytes;
  const Tensor t = on_gpu({1 << 20, 1 << 20}, DType::f32);  // 4 TiB
  CHECK(virtual_memory_stats().active_bytes - before == t.bytes());
  const Tensor some = t.slice(0, 1).reshape({1 << 20}).slice(0, 3);
  Tensor copy;
  CHECK(totals_of([&] { copy = some.to_cpu(); }).waits == 1);
  CHECK(copy.to_vector<float>() == std::vector<float>(3));
  CHECK_THROWS_AS(t.span<float>(), Error);
  CHECK(to_string(t.device()) == "virtual GPU");
}

TEST_CASE("GPU models: rates of products depend on their shape") {
  const GpuModel& model = *find_gpu_model("h200");
  CHECK(find_gpu_model("h300") == nullptr);
  CHECK(gpu_model_of_device("cuda (NVIDIA H200)") == &model);
  CHECK(gpu_model_of_device("NVIDIA A100-SXM4-80GB") == find_gpu_model("a100"));
  CHECK(gpu_model_of_device("NVIDIA T4") == nullptr);
  CHECK(gpu_model_of_device("NVIDIA GH200 480GB") == nullptr);
  CHECK(model.product_shape(8192, 8192, 8192).share > 0.9);
  CHECK(model.product_shape(8192, 8192, 8192).share <= 1);
  CHECK(model.product_shape(8192, 8192, 256).share < 0.55);
  CHECK(model.product_shape(512, 512, 32768).splits > 1);
  CHECK(model.product_shape(64, 64, 64).share < 0.01);
  const GpuWork pass{.name = "pass", .bytes = model.pass_bandwidth()};
  CHECK(model.seconds(pass) == doctest::Approx(1 + model.gap));
}

TEST_CASE("forecast: the FLOPs of products are those of the model") {
  const GpuModel& model = *find_gpu_model("h200");
  const auto make = [](Device device) { return small_workload(50, device); };
  const GpuForecast step = forecast_step(make, {}, Precision::bf16, model);
  CHECK(step.tokens == 50 * 40);

  double attention = 0, products = 0;  // attention has its own kernels
  for (const ProfileRow& op : step.ops)
    if (op.name == "attention") attention += kTrainingFlopsFactor * op.flops;
  for (const ForecastRow& row : step.rows) products += row.flops;
  CHECK(products + attention == doctest::Approx(step.flops));

  double seconds = 0, of_ops = 0;
  for (const ForecastRow& row : step.rows) seconds += row.seconds;
  for (const ProfileRow& op : step.ops) of_ops += op.seconds();
  CHECK(seconds == doctest::Approx(step.busy_seconds));
  CHECK(of_ops == doctest::Approx(step.busy_seconds));
  CHECK(step.forward_seconds + step.backward_seconds + step.optimizer_seconds == doctest::Approx(step.busy_seconds));
  CHECK(step.step_seconds >= std::max(step.busy_seconds, step.host_seconds));
  CHECK(virtual_memory_stats().active_bytes == 0);
}

TEST_CASE("forecast: the memory of a step is that of the CPU") {
  // Without the logits, whose chunks depend on the device: what forward keeps for backward.
  const auto kept = [](Device device, Kernels& kernels, const std::function<size_t()>& bytes) {
    const std::unique_ptr<Workload> work = small_workload(50, device);
    work->draw(0);
    const size_t before = bytes();
    Tape tape(kernels,
              {.record = true, .training = true, .seed = 1, .precision = Precision::fp32, .loss_seeded = true});
    const LossResult result = work->loss(tape);
    return double(bytes() - before);
  };
  const double cpu = kept({}, cpu_kernels(), [] { return memory_stats().active_bytes; });
  const double gpu = kept(kVirtualGpu, virtual_kernels(), [] { return virtual_memory_stats().active_bytes; });
  CHECK(gpu == doctest::Approx(cpu).epsilon(0.03));

  const auto make = [](Device device) { return small_workload(50, device); };
  const GpuForecast step = forecast_step(make, {}, Precision::fp32, *find_gpu_model("h200"));
  const std::unique_ptr<Workload> work = small_workload(50, {});
  const auto arena = double(work->parameters().values().bytes());
  CHECK(step.kept_bytes == doctest::Approx(4 * arena).epsilon(0.01));  // weights, gradients, two moments
  CHECK(step.peak_bytes >= step.kept_bytes + gpu);
  CHECK(step.pool_bytes >= step.peak_bytes);
}

TEST_CASE("forecast: layers that are computed again keep little memory, for a third of the time") {
  const auto forecast = [](Recompute recompute) {
    const auto make = [recompute](Device device) {
      EncoderOnlyConfig config = EncoderOnlyConfig::preset("llama-tiny");
      config.layers = 12;
      config.vocab_size = 1000;
      std::unique_ptr<Workload> work = language_workload(config, 16, 512, {device});
      work->set_recompute(recompute);
      return work;
    };
    return forecast_step(make, {}, Precision::bf16, *find_gpu_model("h200"));
  };
  const GpuForecast kept = forecast(Recompute::none), again = forecast(Recompute::block);
  CHECK(again.kept_bytes == kept.kept_bytes);
  CHECK(again.peak_bytes - again.kept_bytes < 0.4 * (kept.peak_bytes - kept.kept_bytes));
  CHECK(again.flops == kept.flops);
  CHECK(again.busy_seconds > 1.15 * kept.busy_seconds);
  CHECK(again.busy_seconds < 1.35 * kept.busy_seconds);
  CHECK(again.forward_seconds == doctest::Approx(kept.forward_seconds).epsilon(0.02));
}

namespace {

// A job with 1.6 million tokens per step.
GpuJob small_job() {
  GpuJob job;
  job.make = [](int pairs, Device device) { return small_workload(pairs, device); };
  const std::unique_ptr<Workload> work = job.make(10, kVirtualGpu);
  job.load = measure_load(*work, work->parameters(), virtual_kernels(), job.precision, work->draw(0), true);
  job.load.tokens = 1.6 * kMega;
  job.load.item_tokens = 40;
  job.load.bucket_bytes = 1 * kMega;
  return job;
}

}  // namespace

TEST_CASE("gpu model: a given rate of products is that of its precision, and the others are in proportion") {
  for (const Precision precision : {Precision::bf16, Precision::tf32, Precision::fp32}) {
    const GpuModel& kind = *find_gpu_model("h200");
    GpuModel model = kind;
    model.set_products(precision, 5e13);
    CHECK(model.products(precision) == doctest::Approx(5e13));
    for (const Precision other : {Precision::bf16, Precision::tf32, Precision::fp32})
      CHECK(model.products(other) / 5e13 == doctest::Approx(kind.products(other) / kind.products(precision)));
  }
}

TEST_CASE("plans for 1, 8 and 1024 GPUs") {
  const GpuJob job = small_job();
  const GpuModel& model = *find_gpu_model("a100");
  const std::vector<GpuPlanRow> rows = plan_gpus(job, model, {1, 8, 1024});
  CHECK(rows[0].plan.exchange == 0);
  CHECK(rows[0].tokens == rows[2].tokens);
  CHECK(rows[1].plan.exchange > 0);
  CHECK(rows[2].plan.exchange > rows[1].plan.exchange);  // it leaves the node
  CHECK(rows[1].plan.step() < rows[0].plan.step() / 4);
  CHECK(rows[1].plan.step() > rows[0].plan.step() / 8);
  CHECK(rows[1].plan.activations < rows[0].plan.activations);
  CHECK(rows[2].forecast.tokens == 40 * std::lround(1.6 * kMega / 1024 / 40));

  GpuModel small = model;  // has memory for a part of the activations
  small.memory = rows[0].plan.memory() - 0.7 * rows[0].plan.activations;
  const GpuPlanRow full = plan_gpus(job, small, {1}).front();
  CHECK_FALSE(full.fits());
  CHECK(full.fitting_micro_batches >= 2);
  small.memory = 1;
  CHECK(plan_gpus(job, small, {1024}).front().fitting_micro_batches == 0);
}

TEST_CASE("a plan describes a step with all its micro-batches") {
  const GpuModel& model = *find_gpu_model("h200");
  GpuJob job = small_job();
  const auto make = [](Device device) { return small_workload(2500, device); };
  const GpuForecast one = forecast_step(make, job.optimizer, job.precision, model);
  job.load.parallel.accumulation = 4;
  const GpuPlanRow row = plan_gpus(job, model, {4}).front();
  const GpuForecast& all = row.forecast;
  CHECK(all.tokens == 4 * one.tokens);
  CHECK(all.tokens == row.tokens / 4);
  CHECK(all.flops == doctest::Approx(4 * one.flops));
  CHECK(all.peak_bytes == one.peak_bytes);
  CHECK(all.optimizer_seconds == one.optimizer_seconds);
  CHECK(all.step_seconds == doctest::Approx(row.plan.compute + row.plan.optimizer));
  int64_t of_optimizer = 0, launches = 0;
  double seconds = 0;
  for (const ForecastRow& r : one.rows) of_optimizer += r.of_optimizer ? r.launches : 0;
  for (const ForecastRow& r : all.rows) launches += r.launches, seconds += r.seconds;
  CHECK(of_optimizer > 0);
  CHECK(launches == all.launches);
  CHECK(launches == 4 * (one.launches - of_optimizer) + of_optimizer);
  CHECK(seconds == doctest::Approx(all.busy_seconds));
  CHECK(all.host_seconds == doctest::Approx(double(launches) * model.launch));

  job.load.parallel = {.micro_batches = 16};
  CHECK(plan_gpus(job, model, {4}).front().plan.step() == doctest::Approx(row.plan.step()));
  CHECK(plan_gpus(job, model, {5}).front().plan.micro_batches == 4);
  CHECK_THROWS_AS(plan_gpus(job, model, {17}), UsageError);
}

TEST_CASE("a plan extrapolates batches that are too large for the virtual GPU") {
  const GpuModel& model = *find_gpu_model("h200");
  GpuJob job = small_job();
  const auto of_tokens = [&](double tokens) {
    job.load.tokens = tokens;
    return plan_gpus(job, model, {1}).front();
  };
  const GpuPlanRow exact = of_tokens(1e6), large = of_tokens(3e6), huge = of_tokens(3e15);
  CHECK(exact.extrapolated_from == 0);
  CHECK(large.extrapolated_from == doctest::Approx(1 << 20).epsilon(1e-4));
  CHECK(large.plan.compute == doctest::Approx(3 * exact.plan.compute).epsilon(0.03));
  CHECK(large.plan.activations == doctest::Approx(3 * exact.plan.activations).epsilon(0.03));
  CHECK(large.plan.optimizer == exact.plan.optimizer);
  CHECK(double(large.forecast.launches) == doctest::Approx(double(exact.forecast.launches)).epsilon(0.1));
  CHECK(huge.plan.compute == doctest::Approx(1e9 * large.plan.compute).epsilon(1e-3));
  CHECK_FALSE(huge.fits());
}

TEST_CASE("a plan counts the memory of the exchange, and its way through the CPU in deterministic mode") {
  const GpuModel& model = *find_gpu_model("h200");
  GpuJob job = small_job();
  const auto row = [&](const ParallelOptions& parallel, int gpus) {
    job.load.parallel = parallel;
    return plan_gpus(job, model, {gpus}).front().plan;
  };
  const PlanRow fp32 = row({}, 8);
  CHECK(row({.gradient_dtype = GradientDtype::bf16}, 8).reserved ==
        doctest::Approx(fp32.reserved + job.load.bucket_bytes));
  CHECK(row({.zero = 1}, 8).reserved == doctest::Approx(fp32.reserved + job.load.bucket_bytes));
  CHECK(row({.zero = 1}, 1).reserved == row({}, 1).reserved);
  CHECK(row({.zero = 2}, 8).reserved == row({.zero = 1}, 8).reserved);
  CHECK(row({.zero = 2}, 1).gradients == fp32.gradients);
  const PlanRow fixed = row({.deterministic = true}, 8);
  CHECK(fixed.reserved == doctest::Approx(fp32.reserved - model.nccl_buffers));
  CHECK(fixed.exchange > 10 * fp32.exchange);
  CHECK(fixed.exposed > 2 * fixed.gradients / model.host_copy);
}

TEST_CASE("workloads: batches drawn ahead are those drawn later") {
  const std::unique_ptr<Workload> ahead = small_workload(3, {}), later = small_workload(3, {});
  ahead->draw_ahead(2);
  for (uint64_t step = 0; step < 3; ++step) {
    CHECK(ahead->draw(step) == later->draw(step));
    Tape one(cpu_kernels(), {.record = false}), other(cpu_kernels(), {.record = false});
    CHECK(ahead->loss(one).sums().loss == later->loss(other).sums().loss);
  }
}

// ---- Budgets of a training step
// -------------------------------------------------------------------------------------- The launches and bytes are
// those of the virtual GPU, which tests/cuda_emulation compares with the CUDA kernels.

namespace {

struct Budget {
  std::string preset;
  double bytes;  // bytes of all passes over memory
  double share;  // least share of the rate of large products
};

// 833 pairs of sentences of 30 tokens: 25k source and 25k target tokens.
GpuForecast step_of(const std::string& preset) {
  constexpr int kPairs = 833, kLength = 30;
  const auto make = [&](Device device) {
    EncoderDecoderConfig config = EncoderDecoderConfig::preset(preset);
    config.vocab_size = 32000;
    return translation_workload(config, kPairs, kLength, {device});
  };
  return forecast_step(make, {}, Precision::bf16, *find_gpu_model("h200"));
}

}  // namespace

TEST_CASE("training steps of transformer-base and transformer-big keep their budget on a GPU") {
  constexpr double kGiga = 1e9;
  constexpr int64_t kLaunches = 430;
  for (const Budget& budget : {Budget{"transformer-base", 49 * kGiga, 0.48}, {"transformer-big", 94 * kGiga, 0.55}}) {
    const GpuForecast step = step_of(budget.preset);
    const double share = step.flops / step.step_seconds / find_gpu_model("h200")->products(Precision::bf16);
    MESSAGE(budget.preset, ": ", step.launches, " launches, ", step.waits, " waits, ", step.drains, " drains, ",
            step.bytes / kGiga, " GB of passes over memory, predicted ", 1e3 * step.step_seconds, " ms, ", 100 * share,
            " % of the rate of large products");
    CHECK(step.launches <= kLaunches);
    CHECK(step.waits == 1);  // the step waits for the outcome of the previous update
    CHECK(step.drains == 0);
    CHECK(step.bytes <= budget.bytes);
    CHECK(share >= budget.share);
  }
}

}  // namespace gyre
