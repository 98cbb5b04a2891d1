// The table of ops for `gyre bench ops`.
#include "tools/bench/kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "gyre/autograd/elementary.h"
#include "gyre/autograd/gradcheck/gradcheck.h"
#include "gyre/autograd/ops.h"
#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/random.h"
#include "gyre/models/modules/layers.h"
#include "gyre/models/position/position.h"
#include "tools/summary.h"
#include "tools/workload/device.h"

namespace gyre {

namespace {

std::vector<PresetShape> shapes_for_cpus() {
  using enum Activation;
  return {{"mlm-small", 16, 256, 256, 1024, 8192, 4, gelu, 614, 5'300'000},
          {"lm-small", 8, 512, 256, 1024, 8192, 4, gelu, 4096, 5'260'000},
          {"nmt-base", 16, 32, 512, 2048, 32768, 8, relu, 512, 60'900'000},
          {"multi30k-tiny", 256, 14, 128, 256, 10000, 4, relu, 3584, 2'600'000}};
}

std::vector<PresetShape> all_shapes() {
  using enum Activation;
  std::vector<PresetShape> all = shapes_for_cpus();
  all.insert(all.end(), {{"gpt2-small", 4, 64, 768, 3072, 50257, 12, gelu_tanh, 256, 124'400'000},
                         {"nmt-base-25k", 833, 30, 512, 2048, 32768, 8, relu, 24990, 60'900'000},
                         {"nmt-big-25k", 833, 30, 1024, 4096, 32768, 16, relu, 24990, 209'900'000},
                         {"mlm-base-32k", 64, 512, 768, 3072, 30522, 12, gelu, 4915, 109'100'000}});
  return all;
}

}  // namespace

std::vector<std::string> shape_presets() {
  std::vector<std::string> names{"all"};
  for (const PresetShape& shape : all_shapes()) names.push_back(shape.preset);
  return names;
}

std::vector<PresetShape> preset_shapes(const std::string& preset) {
  if (preset == "all") return shapes_for_cpus();
  for (const PresetShape& shape : all_shapes())
    if (shape.preset == preset) return {shape};
  throw Error("[bench] expected a known preset, got ", preset);
}

namespace {

using Vars = std::vector<Var>;
constexpr double kDropout = 0.1;

Tensor random_ids(int64_t n, int64_t limit) {
  RandomStream random(1, uint64_t(n));
  Tensor ids = Tensor::empty({n}, DType::i32);
  for (int32_t& id : ids.span<int32_t>()) id = int32_t(random.below(uint64_t(limit)));
  return ids;
}

// RoPE of a model with this shape. It registers no parameters.
std::shared_ptr<const PositionEncoding> make_rope(const PresetShape& shape) {
  Parameters none;
  return make_position_encoding({PositionConfig{}, shape.dim, shape.heads, none, "positions"});
}

class Rows {
 public:
  explicit Rows(const PresetShape& shape) : s_(shape) {}

  void add_products();
  void add_attention();
  void add_linear_attention();
  void add_elementwise();
  void add_losses();
  void add_elementary();
  void add_lookups();
  void add_optimizer();
  std::vector<OpBench> take() { return std::move(rows_); }

 private:
  OpBench& add(const std::string& op, const std::string& shape, std::vector<OpBench::Input> inputs, OpBench::Run run) {
    return rows_.emplace_back(
        OpBench{.preset = s_.preset, .op = op, .shape = shape, .inputs = std::move(inputs), .run = std::move(run)});
  }
  void add_linear(int64_t in, int64_t out) {
    add("linear", concat(n_, " x ", in, " x ", out), {{{n_, in}}, {{out, in}, true}, {{out}, true}},
        [](Tape&, const Vars& v) { return linear(v[0], v[1], v[2]); });
  }
  void add_pass(const std::string& name, size_t buffers, double numbers,
                std::function<void(Kernels&, const std::vector<Tensor>&)> pass) {
    OpBench& row = add(name, concat(s_.parameters), std::vector<OpBench::Input>(buffers, {{s_.parameters}, true}), {});
    row.parameters = numbers * double(s_.parameters);
    row.pass = std::move(pass);
  }

  const PresetShape s_;
  const int64_t n_ = s_.rows(), d_ = s_.dim, f_ = s_.ffn;
  const double nd_ = double(n_ * d_), nf_ = double(n_ * f_);
  const Segments segments_ = Segments::from_lengths(std::vector<int32_t>(size_t(s_.segments), s_.length));
  const Tensor positions_ = segment_positions(segments_);
  const std::shared_ptr<const PositionEncoding> rope_ = make_rope(s_);
  const std::string rows_of_d_ = concat(n_, " x ", d_), rows_of_f_ = concat(n_, " x ", f_);
  std::vector<OpBench> rows_;
};

void Rows::add_products() {
  add_linear(d_, 3 * d_);
  add_linear(d_, d_);
  add_linear(f_, d_);
  add(concat("linear_", s_.activation), concat(n_, " x ", d_, " x ", f_), {{{n_, d_}}, {{f_, d_}, true}, {{f_}, true}},
      [kind = s_.activation](Tape&, const Vars& v) { return linear_activation(v[0], v[1], v[2], kind); });
  const Tensor targets = random_ids(s_.loss_rows, s_.vocabulary);
  add("linear_cross_entropy", concat(s_.loss_rows, " x ", d_, " x ", s_.vocabulary),
      {{{s_.loss_rows, d_}}, {{s_.vocabulary, d_}, true}},
      [targets](Tape&, const Vars& v) {
        return linear_cross_entropy(v[0], v[1], {}, targets, {.smoothing = 0.1}).loss;
      })
      .loss = true;
}

// Self-attention includes RoPE, as in the layers.
void Rows::add_attention() {
  const std::string shape = concat(s_.segments, " x ", s_.length, ", ", s_.heads, " heads");
  for (bool causal : {false, true})
    add(causal ? "self_attention, causal" : "self_attention", shape, {{{n_, 3 * d_}}},
        [rope = rope_, segments = segments_, positions = positions_, causal, heads = s_.heads](Tape& tape,
                                                                                               const Vars& v) {
          return self_attention(v[0], segments,
                                {.heads = heads,
                                 .causal = causal,
                                 .rotation = rope->rotation(tape, DType::f32, segments.longest()),
                                 .query_positions = positions});
        });
  add("attention", shape, {{{n_, d_}}, {{n_, 2 * d_}}}, [segments = segments_, heads = s_.heads](Tape&, const Vars& v) {
    return attention(v[0], v[1], segments, segments, {.heads = heads});
  });
}

// `data` counts the numbers read and written in forward + those in backward. The feature map has as many features as a
// head has columns.
void Rows::add_linear_attention() {
  const int heads = s_.heads;
  const std::string shape = concat(rows_of_d_, ", ", heads, " heads");
  const auto scan = [segments = segments_, heads](Tape&, const Vars& v) {
    return linear_attention_scan(v[0], v[1], v[2], segments, heads, ScanDirection::before);
  };
  const auto favor = [heads](Tape&, const Vars& v) { return favor_features(v[0], v[1], heads, FavorSide::keys); };
  add("linear_attention_scan", shape, {{{n_, d_}}, {{n_, d_}}, {{n_, d_}}}, scan).data = (4 + 7) * nd_;
  add("favor_features", shape, {{{n_, d_}}, {{n_, d_}}}, favor).data = (3 + 6) * nd_;
  add("head_matmul", shape, {{{n_, d_}}, {{d_ / heads, d_ / heads}, true}},
      [heads](Tape&, const Vars& v) { return head_matmul(v[0], v[1], heads); });
  add("head_softmax", shape, {{{n_, d_}}}, [heads](Tape&, const Vars& v) { return head_softmax(v[0], heads); }).data =
      (2 + 3) * nd_;
  add("head_dot", shape, {{{n_, d_}}, {{d_}, true}}, [heads](Tape&, const Vars& v) {
    return head_dot(v[0], v[1], heads, 1);
  }).data = (1 + 2) * nd_;
  add("head_divide", shape, {{{n_, d_}}, {{n_, heads}}}, [](Tape&, const Vars& v) {
    return head_divide(v[0], v[1] + 1.0, 1e-6);
  }).data = (2 + 3) * nd_;
}

void Rows::add_elementwise() {
  add("layer_norm", rows_of_d_, {{{n_, d_}}, {{d_}, true}, {{d_}, true}}, [](Tape&, const Vars& v) {
    return layer_norm(v[0], v[1], v[2]);
  }).data = (2 + 3) * nd_;
  add(std::string(to_string(s_.activation)), rows_of_f_, {{{n_, f_}}}, [kind = s_.activation](Tape&, const Vars& v) {
    return activation(v[0], kind);
  }).data = (2 + 3) * nf_;
  add("rms_norm", rows_of_d_, {{{n_, d_}}, {{d_}, true}}, [](Tape&, const Vars& v) {
    return rms_norm(v[0], v[1]);
  }).data = (2 + 3) * nd_;
  add(concat("gated_", s_.activation), rows_of_f_, {{{n_, 2 * f_}}}, [kind = s_.activation](Tape&, const Vars& v) {
    return gated_activation(v[0], kind);
  }).data = (3 + 5) * nf_;
  add("segment_mean", rows_of_d_, {{{n_, d_}}}, [segments = segments_](Tape&, const Vars& v) {
    return segment_mean(v[0], segments);
  }).data = (1 + 1) * nd_;
  add("dropout", rows_of_d_, {{{n_, d_}}}, [](Tape&, const Vars& v) { return dropout(v[0], kDropout); }).data =
      (2 + 2) * nd_;
  add("residual_dropout", rows_of_d_, {{{n_, d_}}, {{n_, d_}}}, [](Tape&, const Vars& v) {
    return residual_dropout(v[0], v[1], kDropout);
  }).data = (3 + 2) * nd_;
  add("residual_layer_norm", rows_of_d_, {{{n_, d_}}, {{n_, d_}}, {{d_}, true}, {{d_}, true}},
      [](Tape&, const Vars& v) { return residual_layer_norm(v[0], v[1], kDropout, v[2], v[3]); })
      .data = (4 + 4) * nd_;
}

void Rows::add_losses() {
  const auto add_loss = [&](const char* op, std::vector<OpBench::Input> inputs, double data, OpBench::Run run) {
    const std::string shape = concat(inputs[0].shape[0], " x ", inputs[0].shape[1]);
    OpBench& row = add(op, shape, std::move(inputs), std::move(run));
    row.data = data;
    row.loss = true;
  };
  const int64_t logit_rows = std::min<int64_t>(s_.loss_rows, 1024);  // those of a large batch may not fit in memory
  add_loss("cross_entropy", {{{logit_rows, s_.vocabulary}}}, (1 + 2) * double(logit_rows * s_.vocabulary),
           [targets = random_ids(logit_rows, s_.vocabulary)](Tape&, const Vars& v) {
             return cross_entropy(v[0], targets).loss;
           });
  // Products, like linear_cross_entropy, of the rows of two passes.
  const int64_t pairs = std::min<int64_t>(s_.loss_rows, 512);
  add_loss("linear_r_drop", {{{2 * pairs, d_}}, {{s_.vocabulary, d_}, true}}, 0,
           [targets = random_ids(pairs, s_.vocabulary)](Tape&, const Vars& v) {
             return linear_r_drop(v[0], v[1], {}, targets, 0.1, 5).loss;
           });
  const int64_t scores = n_ / 2 * 2;
  add_loss("squared_error", {{{scores, 1}}}, (1 + 2) * double(scores),
           [targets = Tensor::zeros({scores}, DType::f32)](Tape&, const Vars& v) {
             return squared_error(v[0], targets).loss;
           });
  add_loss("margin_loss", {{{scores, 1}}}, (1 + 2) * double(scores),
           [](Tape&, const Vars& v) { return margin_loss(v[0], 1).loss; });
}

// Ops of autograd/elementary.h, of which own models are made.
void Rows::add_elementary() {
  const auto function = [&](const std::string& op, double data, OpBench::Run run) {
    add(op, rows_of_f_, {{{n_, f_}}}, std::move(run)).data = data * nf_;
  };
  const auto unary = [&](const char* op, double data, Var (*run)(const Var&)) {
    function(op, data, [run](Tape&, const Vars& v) { return run(v[0]); });
  };
  const auto binary = [&](const char* op, double data, Var (*run)(const Var&, const Var&)) {
    add(op, rows_of_f_, {{{n_, f_}}, {{n_, f_}}}, [run](Tape&, const Vars& v) { return run(v[0], v[1]); }).data =
        data * nf_;
  };
  unary("exp", 2 + 3, exp);
  unary("log_softmax", 2 + 3, log_softmax);
  unary("sigmoid", 2 + 3, sigmoid);
  unary("softmax", 2 + 3, softmax);
  unary("sqrt", 2 + 3, sqrt);
  unary("transpose", 2 + 2, transpose);
  binary("add", 3, gyre::add);
  binary("divide", 3 + 5, divide);
  binary("multiply", 3 + 5, multiply);
  for (const int axis : {0, 1}) {
    const std::string of_axis = concat(", axis ", axis);
    function("max" + of_axis, 1 + 2, [axis](Tape&, const Vars& v) { return max(v[0], axis); });
    function("sum" + of_axis, 1 + 1, [axis](Tape&, const Vars& v) { return sum(v[0], axis); });
    function("concat" + of_axis, 4 + 4, [axis](Tape&, const Vars& v) { return gyre::concat({v[0], v[0]}, axis); });
  }
  function("slice", 1 + 1.5, [half = f_ / 2](Tape&, const Vars& v) { return slice(v[0], 1, 0, half); });
  function("masked_fill", 3 + 3, [mask = random_ids(n_ * f_, 2).reshape({n_, f_})](Tape&, const Vars& v) {
    return masked_fill(v[0], mask, 0);
  });
  add("matmul", concat(n_, " x ", d_, " x ", f_), {{{n_, d_}}, {{d_, f_}}},
      [](Tape&, const Vars& v) { return matmul(v[0], v[1]); });
}

void Rows::add_lookups() {
  const Tensor ids = random_ids(n_, s_.vocabulary);
  OpBench& lookup = add("embedding", concat(rows_of_d_, " of ", s_.vocabulary), {{{s_.vocabulary, d_}, true}},
                        [ids](Tape&, const Vars& v) { return embedding(v[0], ids, 2); });
  lookup.data = (1 + 1) * nd_;
  lookup.parameters = (1 + 2) * nd_;
  add("gather_rows", rows_of_d_, {{{n_, d_}}}, [rows = random_ids(n_, n_)](Tape&, const Vars& v) {
    return gather_rows(v[0], rows);
  }).data = (2 + 2) * nd_;
  add("rope", concat(rows_of_d_, ", ", s_.heads, " heads"), {{{n_, d_}}},
      [rope = rope_, positions = positions_, longest = s_.length](Tape& tape, const Vars& v) {
        return gyre::rope(v[0], rope->rotation(tape, DType::f32, longest), positions);
      })
      .data = (2 + 2) * nd_;
}

void Rows::add_optimizer() {
  // State that an update needs beside its arenas: one range, which is not decayed, and an accepting verdict. They are
  // copied to a device once, before the clock starts: the copy makes the host wait.
  const auto on_device = [](const Tensor& values) {
    return [values, copy = std::make_shared<Tensor>()](const Kernels& kernels) -> const Tensor& {
      if (!copy->defined() || copy->device() != kernels.device()) *copy = values.to(kernels.device());
      return *copy;
    };
  };
  const auto verdict = on_device(Tensor::from<double>({kVerdictSize}, {1, 1, 1}));
  const auto groups = on_device(Tensor::from<double>({1, UpdateRanges::kGroupColumns}, {1, 0}));
  const Tensor table = Tensor::from<int32_t>({1, UpdateRanges::kColumns}, {0, 0, 0, 0, 0});
  const auto ranges = [table, groups, units = s_.parameters / kUpdateUnit](const Kernels& kernels) {
    return UpdateRanges{.table = table, .groups = groups(kernels), .units = units};
  };
  add_pass("adam", 4, 4 + 4, [ranges, verdict](Kernels& kernels, const std::vector<Tensor>& b) {
    kernels.adam(b[0], b[1], b[2], b[3], ranges(kernels), verdict(kernels),
                 {.learning_rate = 1e-6, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9, .bias1 = 1, .bias2 = 1});
  });
  add_pass("lion", 3, 3 + 3, [ranges, verdict](Kernels& kernels, const std::vector<Tensor>& b) {
    kernels.lion(b[0], b[1], b[2], ranges(kernels), verdict(kernels),
                 {.learning_rate = 1e-6, .beta1 = 0.9, .beta2 = 0.99});
  });
  add_pass("block_square_sums", 1, 1, [](Kernels& kernels, const std::vector<Tensor>& b) {
    kernels.block_square_sums(Tensor::empty({squares_blocks(b[0].size())}, DType::f64, kernels.device()), b[0]);
  });
  add_pass("moving_average", 2, 2 + 1, [verdict](Kernels& kernels, const std::vector<Tensor>& b) {
    kernels.moving_average(b[0], b[1], verdict(kernels), 0.999);
  });
}

}  // namespace

std::vector<OpBench> op_benches(const PresetShape& shape) {
  Rows rows(shape);
  rows.add_products();
  rows.add_attention();
  rows.add_linear_attention();
  rows.add_elementwise();
  rows.add_losses();
  rows.add_elementary();
  rows.add_lookups();
  rows.add_optimizer();
  return rows.take();
}

namespace {

// The inputs of an op with random values. The passes of the optimizer get positive constants.
class Inputs {
 public:
  Inputs(const OpBench& bench, DType data, Device device) {
    for (size_t i = 0; i < bench.inputs.size(); ++i)
      store_.add(std::to_string(i), bench.inputs[i].shape, bench.pass ? Init::constant(0.1) : Init::normal(0.1));
    store_.allocate(1, DType::f32, device);
    for (size_t i = 0; i < bench.inputs.size(); ++i) {
      parameter_.push_back(bench.inputs[i].parameter);
      const Tensor& value = store_[i].value;
      tensors_.push_back(parameter_.back() ? value : value.to_cpu().to(data).to(device));
    }
  }

  std::vector<Var> on(Tape& tape) {
    std::vector<Var> vars;
    for (size_t i = 0; i < tensors_.size(); ++i)
      vars.push_back(parameter_[i] ? tape.parameter(store_[i]) : tape.leaf(tensors_[i]));
    return vars;
  }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  Parameters store_;
  std::vector<Tensor> tensors_;
  std::vector<bool> parameter_;
};

OpRow measure_op(Kernels& kernels, const OpBench& bench, Precision precision, int repetitions) {
  const Device device = kernels.device();
  const int row = runs_per_measurement(device);
  const DType data = precision == Precision::bf16 ? DType::bf16 : DType::f32;
  Inputs inputs(bench, data, device);
  Tensor cotangent;
  std::vector<double> forward, backward;
  double flops = 0;
  for (int i = 0; i <= repetitions; ++i) {
    const Tape::Options options{
        .record = true, .training = true, .seed = uint64_t(i), .precision = precision, .loss_seeded = bench.loss};
    std::deque<Tape> tapes;
    std::vector<std::vector<Var>> vars;
    for (int j = 0; j < row; ++j) vars.push_back(inputs.on(tapes.emplace_back(kernels, options)));
    std::vector<Var> outputs;
    DeviceWatch watch(device);
    for (int j = 0; j < row; ++j) outputs.push_back(bench.run(tapes[size_t(j)], vars[size_t(j)]));
    const double forward_seconds = watch.lap() / row;
    const Tensor& output = outputs[0].value();
    if (!cotangent && !bench.loss)
      cotangent = normal_tensor(output.shape(), DType::f32, 1, 0).to(output.dtype()).to(device);
    watch.lap();
    for (int j = 0; j < row; ++j) tapes[size_t(j)].backward(outputs[size_t(j)], cotangent);
    const double backward_seconds = watch.lap() / row;
    flops = tapes[0].flops();
    if (i == 0) continue;  // warm-up
    forward.push_back(forward_seconds);
    backward.push_back(backward_seconds);
  }
  const bool product = bench.data + bench.parameters == 0;
  return {bench.preset,
          bench.op,
          bench.shape,
          median(forward),
          median(backward),
          product ? kTrainingFlopsFactor * flops
                  : bench.data * double(dtype_bytes(data)) + bench.parameters * sizeof(float),
          product};
}

OpRow measure_pass(Kernels& kernels, const OpBench& bench, int repetitions) {
  const Device device = kernels.device();
  const int row = runs_per_measurement(device);
  const Inputs inputs(bench, DType::f32, device);
  std::vector<double> seconds;
  bench.pass(kernels, inputs.tensors());
  DeviceWatch watch(device);
  for (int i = 0; i < repetitions; ++i) {
    for (int j = 0; j < row; ++j) bench.pass(kernels, inputs.tensors());
    seconds.push_back(watch.lap() / row);
  }
  return {bench.preset, bench.op, bench.shape, median(seconds), 0, bench.parameters * sizeof(float), false};
}

double seconds(const OpRow& row) { return row.forward_seconds + row.backward_seconds; }

// Work per second of all products, or of all memory-bound ops.
double rate_of_all(const OpReport& report, bool products) {
  double work = 0, time = 0;
  for (const OpRow& row : report.rows) {
    if (row.product != products) continue;
    work += row.work;
    time += seconds(row);
  }
  return work / time;
}

double share(const OpReport& report, const OpRow& row) {
  return row.work / seconds(row) / (row.product ? report.limit_flops : report.limit_bytes);
}

}  // namespace

OpReport run_op_bench(Kernels& kernels, const std::string& preset, Precision precision, int repetitions) {
  OpReport report;
  const ProductLimit limit(kernels.device(), precision);
  const double bytes_at_start = bandwidth_limit(kernels.device());
  for (const PresetShape& shape : preset_shapes(preset))
    for (const OpBench& bench : op_benches(shape))
      report.rows.push_back(bench.pass ? measure_pass(kernels, bench, repetitions)
                                       : measure_op(kernels, bench, precision, repetitions));
  report.limit_flops = limit.value();
  report.limit_bytes = std::max(bytes_at_start, bandwidth_limit(kernels.device()));
  return report;
}

Json to_json(const OpReport& report) {
  Json summary;
  add_rate(summary, rate_of_all(report, true), report.limit_flops);
  const double bytes = rate_of_all(report, false);
  summary["gbytes"] = rounded(bytes / 1e9);
  summary["limit_gbytes"] = rounded(report.limit_bytes / 1e9);
  summary["memory_share"] = rounded(bytes / report.limit_bytes);
  return summary;
}

Json rows_json(const OpReport& report) {
  Json rows = Json::array();
  for (const OpRow& r : report.rows)
    rows.push_back({{"preset", r.preset},
                    {"op", r.op},
                    {"shape", r.shape},
                    {"forward_ms", rounded(1e3 * r.forward_seconds)},
                    {"backward_ms", rounded(1e3 * r.backward_seconds)},
                    {r.product ? "gflops" : "gbytes", rounded(r.work / seconds(r) / 1e9)},
                    {"share", rounded(share(report, r))}});
  return rows;
}

void print_rows(const OpReport& report) {
  std::printf("\n%-14s %-22s %-21s %11s %12s %16s %7s\n", "preset", "op", "shape", "forward ms", "backward ms", "rate",
              "share");
  for (const OpRow& r : report.rows)
    std::printf("%-14s %-22s %-21s %11.3f %12.3f %8.1f %s %6.1f%%\n", r.preset.c_str(), r.op.c_str(), r.shape.c_str(),
                1e3 * r.forward_seconds, 1e3 * r.backward_seconds, r.work / seconds(r) / 1e9,
                r.product ? "GFLOP/s" : "GB/s   ", 100 * share(report, r));
}

namespace {

struct ProductLayer {
  std::string preset, name;
  int64_t n, d, o;
};

std::vector<ProductLayer> layers_of(const PresetShape& s) {
  return {{s.preset, "qkv", s.rows(), s.dim, 3 * s.dim},
          {s.preset, "out", s.rows(), s.dim, s.dim},
          {s.preset, "fc1", s.rows(), s.dim, s.ffn},
          {s.preset, "fc2", s.rows(), s.ffn, s.dim},
          {s.preset, "output", s.loss_rows, s.dim, s.vocabulary}};
}

std::vector<ProductLayer> layers_of(const GemmBench& bench) {
  std::vector<ProductLayer> all;
  for (const int64_t n : bench.sizes) all.push_back({"square", std::to_string(n), n, n, n});
  if (!bench.sizes.empty()) return all;
  for (const PresetShape& shape : preset_shapes(bench.preset)) {
    const std::vector<ProductLayer> layers = layers_of(shape);
    all.insert(all.end(), layers.begin(), layers.end());
  }
  return all;
}

double median_seconds(Device device, int repetitions, const std::function<void()>& run) {
  run();
  const int row = runs_per_measurement(device);
  std::vector<double> seconds;
  DeviceWatch watch(device);
  for (int i = 0; i < repetitions; ++i) {
    for (int j = 0; j < row; ++j) run();
    seconds.push_back(watch.lap() / row);
  }
  return median(seconds);
}

// Normal numbers that repeat, because making a billion of them takes a minute. No row length is a multiple of the
// period, so rows differ.
Tensor random_numbers(const Shape& shape, DType dtype, Device device) {
  constexpr int64_t kPeriod = 1'000'003;
  const Tensor period = normal_tensor({kPeriod}, DType::f32, 1, 0).to(dtype), numbers = Tensor::empty(shape, dtype);
  const size_t width = dtype_bytes(dtype);
  for (int64_t i = 0; i < numbers.size(); i += kPeriod) {
    std::memcpy(static_cast<char*>(numbers.raw()) + size_t(i) * width, period.raw(),
                size_t(std::min(kPeriod, numbers.size() - i)) * width);
  }
  return numbers.to(device);
}

GemmRow measure(Kernels& kernels, const ProductLayer& layer, Precision precision, int repetitions) {
  const auto [preset, name, n, d, o] = layer;
  const DType data = precision == Precision::bf16 ? DType::bf16 : DType::f32;
  const Device device = kernels.device();
  const Tensor x = random_numbers({n, d}, data, device), y = random_numbers({n, o}, data, device);
  const Tensor w = random_numbers({o, d}, DType::f32, device);
  const Tensor dx = x.like(), dw = Tensor::zeros(w.shape(), w.dtype(), device);
  GemmRow row{preset, name, concat(n, " x ", d, " x ", o), 2.0 * double(n) * double(d) * double(o), 0, 0, 0};
  row.forward_seconds = median_seconds(device, repetitions, [&] { kernels.linear(y, x, w, {}); });
  row.dinput_seconds = median_seconds(device, repetitions, [&] { kernels.linear_backward(dx, {}, {}, y, x, w, {}); });
  row.dweight_seconds = median_seconds(device, repetitions, [&] { kernels.linear_backward({}, dw, {}, y, x, w, {}); });
  return row;
}

}  // namespace

GemmReport run_gemm_bench(Kernels& kernels, const GemmBench& bench) {
  GemmReport report;
  const ProductLimit limit(kernels.device(), bench.precision);
  double flops = 0, seconds = 0;
  for (const ProductLayer& layer : layers_of(bench)) {
    const GemmRow& row = report.rows.emplace_back(measure(kernels, layer, bench.precision, bench.repetitions));
    flops += 3 * row.flops;
    seconds += row.forward_seconds + row.dinput_seconds + row.dweight_seconds;
  }
  report.flops = flops / seconds;
  report.limit_flops = limit.value();
  return report;
}

Json to_json(const GemmReport& report) {
  Json summary;
  add_rate(summary, report.flops, report.limit_flops);
  return summary;
}

Json rows_json(const GemmReport& report) {
  Json rows = Json::array();
  for (const GemmRow& r : report.rows)
    rows.push_back({{"preset", r.preset},
                    {"layer", r.layer},
                    {"shape", r.shape},
                    {"forward_gflops", rounded(r.flops / r.forward_seconds / 1e9)},
                    {"dinput_gflops", rounded(r.flops / r.dinput_seconds / 1e9)},
                    {"dweight_gflops", rounded(r.flops / r.dweight_seconds / 1e9)}});
  return rows;
}

void print_rows(const GemmReport& report) {
  std::printf("\n%-14s %-11s %-20s %9s %9s %9s %7s  GFLOP/s\n", "preset", "layer", "n x d x o", "forward", "dx", "dw",
              "share");
  for (const GemmRow& r : report.rows) {
    const double all = 3 * r.flops / (r.forward_seconds + r.dinput_seconds + r.dweight_seconds);
    std::printf("%-14s %-11s %-20s %9.1f %9.1f %9.1f %6.1f%%\n", r.preset.c_str(), r.layer.c_str(), r.shape.c_str(),
                r.flops / r.forward_seconds / 1e9, r.flops / r.dinput_seconds / 1e9, r.flops / r.dweight_seconds / 1e9,
                100 * all / report.limit_flops);
  }
}

namespace {

// Peak bytes of tensors above those at construction, sampled after every op and before and after its backward.
class PeakMemory final : public TapeObserver {
 public:
  explicit PeakMemory(Device device) : device_(device), start_(active()), peak_(start_) {}
  void on_record(const Tape&, int) override { look(); }
  void before_backward(const Tape&, int) override { look(); }
  void after_backward(const Tape&, int) override { look(); }
  double mb() const { return double(peak_ - start_) / kMebibyte; }

 private:
  size_t active() const { return tensor_memory(device_).active_bytes; }
  void look() { peak_ = std::max(peak_, active()); }

  Device device_;
  size_t start_, peak_;
};

// One attention layer, used for all lengths.
class AttentionLayer {
 public:
  AttentionLayer(const AttentionBench& bench, AttentionKind kind, Device device)
      : attention_(parameters_, "layer", "self_attn", 0, config(bench, kind)) {
    parameters_.allocate(1, DType::f32, device);
  }
  const SelfAttention& operator*() const { return attention_; }

 private:
  static LayerConfig config(const AttentionBench& bench, AttentionKind kind) {
    LayerConfig c;
    c.dim = bench.dim;
    c.heads = bench.heads;
    c.attention = bench.attention;
    c.attention.kind = kind;
    return c;
  }
  Parameters parameters_;
  SelfAttention attention_;
};

AttentionRow measure(Kernels& kernels, const AttentionBench& bench, AttentionKind kind, const AttentionLayer& layer,
                     int64_t length) {
  const Device device = kernels.device();
  const Segments text = Segments::from_lengths(std::vector<int32_t>(size_t(bench.segments), int32_t(length)));
  const int64_t tokens = bench.segments * length;
  const DType type = bench.precision == Precision::bf16 ? DType::bf16 : DType::f32;
  const Tensor x = normal_tensor({tokens, bench.dim}, DType::f32, 1, 0).to(type).to(device);
  const Tensor cotangent = normal_tensor({tokens, bench.dim}, DType::f32, 2, 0).to(type).to(device);
  std::vector<double> forward, backward;
  double peak = 0, flops = 0;
  for (int i = 0; i <= bench.repetitions; ++i) {
    Tape tape(kernels, {.record = true, .training = true, .precision = bench.precision});
    PeakMemory memory(device);
    tape.add_observer(memory);
    DeviceWatch watch(device);
    const Var out = (*layer)(tape.leaf(x), text, {}, bench.causal);
    const double seconds = watch.lap();
    tape.backward(out, cotangent);
    if (i > 0) backward.push_back(watch.lap());  // the first one is a warm-up
    if (i > 0) forward.push_back(seconds);
    peak = memory.mb();
    flops = kTrainingFlopsFactor * tape.flops();
  }
  return {kind, length, bench.segments, median(forward), median(backward), flops, peak};
}

double seconds_of(const AttentionRow& row) { return row.forward_seconds + row.backward_seconds; }
double per_token(const AttentionRow& row) { return seconds_of(row) / double(row.segments * row.length); }
double kb_per_token(const AttentionRow& row) { return 1024 * row.peak_mb / double(row.segments * row.length); }

}  // namespace

AttentionReport run_attention_bench(Kernels& kernels, const AttentionBench& bench) {
  AttentionReport report;
  const ProductLimit limit(kernels.device(), bench.precision);
  for (const AttentionKind kind : bench.kinds) {
    const AttentionLayer layer(bench, kind, kernels.device());
    for (const int64_t length : bench.lengths) report.rows.push_back(measure(kernels, bench, kind, layer, length));
  }
  report.limit_flops = limit.value();
  return report;
}

Json to_json(const AttentionReport& report) {
  double seconds = 0, flops = 0;
  for (const AttentionRow& row : report.rows) {
    seconds += seconds_of(row);
    flops += row.flops;
  }
  Json summary;
  add_rate(summary, flops / seconds, report.limit_flops);
  return summary;
}

Json rows_json(const AttentionReport& report) {
  Json rows = Json::array();
  for (const AttentionRow& r : report.rows)
    rows.push_back({{"kind", enum_name(r.kind)},
                    {"length", r.length},
                    {"segments", r.segments},
                    {"forward_ms", rounded(1e3 * r.forward_seconds)},
                    {"backward_ms", rounded(1e3 * r.backward_seconds)},
                    {"gflops", rounded(r.flops / seconds_of(r) / 1e9)},
                    {"share", rounded(r.flops / seconds_of(r) / report.limit_flops)},
                    {"us_per_token", rounded(1e6 * per_token(r))},
                    {"peak_mb", rounded(r.peak_mb)},
                    {"peak_kb_per_token", rounded(kb_per_token(r))}});
  return rows;
}

void print_rows(const AttentionReport& report) {
  std::printf("\n%-8s %8s %12s %12s %7s %12s %10s %12s\n", "kind", "length", "forward ms", "backward ms", "share",
              "us/token", "peak MiB", "KiB/token");
  for (const AttentionRow& r : report.rows)
    std::printf("%-8s %8lld %12.2f %12.2f %6.1f%% %12.3f %10.1f %12.2f\n", std::string(enum_name(r.kind)).c_str(),
                static_cast<long long>(r.length), 1e3 * r.forward_seconds, 1e3 * r.backward_seconds,
                100 * r.flops / seconds_of(r) / report.limit_flops, 1e6 * per_token(r), r.peak_mb, kb_per_token(r));
}

}  // namespace gyre
