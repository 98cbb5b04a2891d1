// The table of `gyre bench ops`.
#include <cmath>

#include "autograd/ops.h"
#include "core/random.h"
#include "models/position/position.h"
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

Tensor rope_frequencies(int64_t width) {
  Tensor frequencies = Tensor::empty({width / 2});
  for (int64_t j = 0; j < width / 2; ++j)
    frequencies.data<float>()[j] = float(std::pow(10000.0, -2.0 * double(j) / double(width)));
  return frequencies;
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
  void add(const std::string& op, const std::string& shape, std::vector<OpBench::Input> inputs, double numbers,
           OpBench::Run run) {
    rows_.push_back({s_.preset, op, shape, std::move(inputs), std::move(run), numbers});
  }
  void add_linear(int64_t in, int64_t out) {
    add("linear", concat(n_, " x ", in, " x ", out), {{{n_, in}}, {{out, in}, true}, {{out}, true}}, 0,
        [](Tape&, const Vars& v) { return linear(v[0], v[1], v[2]); });
  }

  const PresetShape s_;
  const int64_t n_ = s_.rows(), d_ = s_.dim, f_ = s_.ffn;
  const double nd_ = double(n_ * d_), nf_ = double(n_ * f_);
  const std::string rows_of_d_ = concat(n_, " x ", d_), rows_of_f_ = concat(n_, " x ", f_);
  std::vector<OpBench> rows_;
};

void Rows::add_products() {
  add_linear(d_, d_);
  add_linear(d_, f_);
  add_linear(f_, d_);
  const Tensor targets = random_ids(s_.loss_rows, s_.vocabulary);
  add("linear_cross_entropy", concat(s_.loss_rows, " x ", d_, " x ", s_.vocabulary),
      {{{s_.loss_rows, d_}}, {{s_.vocabulary, d_}, true}}, 0,
      [targets](Tape&, const Vars& v) { return linear_cross_entropy(v[0], v[1], targets, 0.1).loss; });
}

void Rows::add_attention() {
  const Segments segments = Segments::from_lengths(std::vector<int32_t>(size_t(s_.segments), s_.length));
  for (bool causal : {false, true})
    add(causal ? "attention, causal" : "attention", concat(s_.segments, " x ", s_.length, ", ", s_.heads, " heads"),
        {{{n_, d_}}, {{n_, d_}}, {{n_, d_}}}, 0, [segments, causal, heads = s_.heads](Tape&, const Vars& v) {
          return attention(v[0], v[1], v[2], segments, segments, {.heads = heads, .causal = causal});
        });
}

// Numbers read and written: those of forward + those of backward.
void Rows::add_elementwise() {
  add("layer_norm", rows_of_d_, {{{n_, d_}}, {{d_}, true}, {{d_}, true}}, (2 + 3) * nd_,
      [](Tape&, const Vars& v) { return layer_norm(v[0], v[1], v[2]); });
  add(s_.activation == Activation::relu ? "relu" : "gelu", rows_of_f_, {{{n_, f_}}}, (2 + 3) * nf_,
      [kind = s_.activation](Tape&, const Vars& v) { return activation(v[0], kind); });
  add("dropout", rows_of_d_, {{{n_, d_}}}, (2 + 2) * nd_, [](Tape&, const Vars& v) { return dropout(v[0], kDropout); });
  add("residual_dropout", rows_of_d_, {{{n_, d_}}, {{n_, d_}}}, (3 + 2) * nd_,
      [](Tape&, const Vars& v) { return residual_dropout(v[0], v[1], kDropout); });
  add("add", rows_of_d_, {{{n_, d_}}, {{n_, d_}}}, 3 * nd_, [](Tape&, const Vars& v) { return gyre::add(v[0], v[1]); });
}

void Rows::add_lookups() {
  const Tensor ids = random_ids(n_, s_.vocabulary);
  add("embedding", concat(rows_of_d_, " of ", s_.vocabulary), {{{s_.vocabulary, d_}, true}}, (2 + 3) * nd_,
      [ids](Tape&, const Vars& v) { return embedding(v[0], ids, 2); });
  const Tensor positions =
      segment_positions(Segments::from_lengths(std::vector<int32_t>(size_t(s_.segments), s_.length)));
  const int64_t width = d_ / s_.heads;
  add("rope", concat(rows_of_d_, ", ", s_.heads, " heads"), {{{n_, d_}}}, (2 + 2) * nd_,
      [positions, frequencies = rope_frequencies(width), rotary = Rotary{.heads = s_.heads, .dims = int(width)}](
          Tape& tape, const Vars& v) { return rope(v[0], tape.constant(frequencies), positions, rotary); });
}

void Rows::add_optimizer() {
  const int64_t n = s_.parameters;
  const auto add_pass = [&](const std::string& name, size_t buffers, double numbers, auto pass) {
    rows_.push_back({s_.preset,
                     name,
                     concat(n),
                     std::vector<OpBench::Input>(buffers, {{n}}),
                     {},
                     numbers * double(n),
                     std::move(pass)});
  };
  add_pass("adam", 4, 7, [](const std::vector<Tensor>& b) {
    cpu_kernels().adam(b[0], b[1], b[2], b[3],
                       {.learning_rate = 1e-6, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9, .bias1 = 1, .bias2 = 1});
  });
  add_pass("sum_of_squares", 1, 1, [](const std::vector<Tensor>& b) { cpu_kernels().sum_of_squares(b[0]); });
  add_pass("moving_average", 2, 3,
           [](const std::vector<Tensor>& b) { cpu_kernels().moving_average(b[0], b[1], 0.999); });
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
