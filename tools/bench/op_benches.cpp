// The table of ops for `gyre bench ops`.
#include <memory>

#include "gyre/autograd/ops.h"
#include "gyre/core/random.h"
#include "gyre/models/position/position.h"
#include "tools/bench/ops.h"

namespace gyre {
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
  void add_elementwise();
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

// `data` counts the numbers read and written in forward + those in backward.
void Rows::add_elementwise() {
  add("layer_norm", rows_of_d_, {{{n_, d_}}, {{d_}, true}, {{d_}, true}}, [](Tape&, const Vars& v) {
    return layer_norm(v[0], v[1], v[2]);
  }).data = (2 + 3) * nd_;
  add(std::string(to_string(s_.activation)), rows_of_f_, {{{n_, f_}}}, [kind = s_.activation](Tape&, const Vars& v) {
    return activation(v[0], kind);
  }).data = (2 + 3) * nf_;
  add("dropout", rows_of_d_, {{{n_, d_}}}, [](Tape&, const Vars& v) { return dropout(v[0], kDropout); }).data =
      (2 + 2) * nd_;
  add("residual_dropout", rows_of_d_, {{{n_, d_}}, {{n_, d_}}}, [](Tape&, const Vars& v) {
    return residual_dropout(v[0], v[1], kDropout);
  }).data = (3 + 2) * nd_;
  add("residual_layer_norm", rows_of_d_, {{{n_, d_}}, {{n_, d_}}, {{d_}, true}, {{d_}, true}},
      [](Tape&, const Vars& v) { return residual_layer_norm(v[0], v[1], kDropout, v[2], v[3]); })
      .data = (4 + 4) * nd_;
  add("add", rows_of_d_, {{{n_, d_}}, {{n_, d_}}}, [](Tape&, const Vars& v) { return gyre::add(v[0], v[1]); }).data =
      3 * nd_;
}

void Rows::add_lookups() {
  const Tensor ids = random_ids(n_, s_.vocabulary);
  OpBench& lookup = add("embedding", concat(rows_of_d_, " of ", s_.vocabulary), {{{s_.vocabulary, d_}, true}},
                        [ids](Tape&, const Vars& v) { return embedding(v[0], ids, 2); });
  lookup.data = (1 + 1) * nd_;
  lookup.parameters = (1 + 2) * nd_;
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
  rows.add_elementwise();
  rows.add_lookups();
  rows.add_optimizer();
  return rows.take();
}

}  // namespace gyre
