// Tests tape_rows(): the contents of the rows, and that their saved bytes equal the memory growth of the forward pass.
#include "gyre/autograd/inspect/tape_rows.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gyre/autograd/gradcheck/op_cases.h"
#include "gyre/autograd/ops.h"
#include "gyre/core/memory.h"
#include "tests/cached_blocks.h"

using namespace gyre;

namespace {

bool none(const SavedTensor&) { return false; }
bool is_index_or_target(const SavedTensor& s) { return s.dtype == DType::i32 || s.name == "targets"; }

// A model that applies one layer twice, with a table tied to the output.
struct TwoLayers {
  Parameters parameters;
  Parameter &table, &w, &bias, &gamma, &beta;

  TwoLayers()
      : table(parameters.add("table", {11, 8}, Init::normal(0.5))),
        w(parameters.add("w", {8, 8}, Init::normal(0.5))),
        bias(parameters.add("bias", {8}, Init::normal(0.5))),
        gamma(parameters.add("gamma", {8}, Init::constant(1))),
        beta(parameters.add("beta", {8}, Init::constant(0))) {
    parameters.allocate(1);
  }

  Var layer(const Var& x, const Segments& segments, const Rope& rotation, const Tensor& positions) {
    Tape& tape = x.tape();
    const Tape::Scope scope(tape, "attention");
    const Var b = tape.parameter(bias);
    const Var h = linear_activation(x, tape.parameter(w), b, Activation::gelu, 0.1);
    const Var qkv = linear(h, tape.leaf(Tensor::zeros({24, 8})));
    const Var a = self_attention(
        qkv, segments,
        {.heads = 2, .causal = true, .dropout = 0.2, .rotation = rotation, .query_positions = positions});
    return residual_layer_norm(x, a, 0.1, tape.parameter(gamma), tape.parameter(beta));
  }

  Var loss(Tape& tape) {
    const Tensor ids = Tensor::from<int32_t>({5}, std::vector<int32_t>{3, 1, 4, 1, 5});
    const Tensor positions = Tensor::from<int32_t>({5}, std::vector<int32_t>{0, 1, 2, 0, 1});
    const Segments segments = Segments::from_lengths({3, 2});
    const Tape::Scope scope(tape, "encoder");
    Var x = embedding(tape.parameter(table), ids, 2);
    Rope rotation =
        make_rope(tape.constant(Tensor::zeros({2})), 3, {.heads = 2, .dims = 4, .pairs = RotaryPairs::half_split});
    rotation.frequencies = {};  // fixed
    for (int i = 0; i < 2; ++i) {
      const Tape::Scope layer_scope(tape, "layers." + std::to_string(i));
      x = layer(x, segments, rotation, positions);
    }
    return linear_cross_entropy(x, tape.parameter(table), {}, ids, {0.1}).loss;
  }
};

const TapeRow& row_of(const std::vector<TapeRow>& rows, const std::string& module, const std::string& op) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const TapeRow& row) { return row.module == module && row.op == op; });
  REQUIRE(found != rows.end());
  return *found;
}

const SavedTensor& saved(const TapeRow& row, const std::string& name) {
  const auto found =
      std::find_if(row.saved.begin(), row.saved.end(), [&](const SavedTensor& s) { return s.name == name; });
  REQUIRE(found != row.saved.end());
  return *found;
}

}  // namespace

TEST_CASE("every op has a formula, forward and indented backward, and saves what its forward adds to the memory") {
  for (const OpCase& op_case : op_cases()) {
    CAPTURE(op_case.name);
    const auto inputs_on = [&](Tape& tape) {
      std::vector<Var> inputs;
      for (const NamedInput& input : op_case.inputs) inputs.push_back(tape.leaf(input.value));
      return inputs;
    };
    {
      Tape warm(cpu_kernels(), kOpCaseTape);  // the kernels allocate their buffers once
      op_case.op(warm, inputs_on(warm));
    }
    Tape tape(cpu_kernels(), kOpCaseTape);
    const std::vector<Var> inputs = inputs_on(tape);
    const size_t before = memory_stats().active_bytes;
    op_case.op(tape, inputs);
    const size_t growth = memory_stats().active_bytes - before;
    // A tensor of 0 bytes takes a block too.
    const auto& nodes = tape.nodes();
    const bool empty = std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.value.size() == 0; });
    std::vector<TapeRow> rows = tape_rows(tape);
    std::erase_if(rows, [](const TapeRow& row) { return row.leaf; });
    const bool agrees = growth == cached_blocks(rows, none) || growth == cached_blocks(rows, is_index_or_target);
    CHECK((empty || agrees));
    for (const TapeRow& row : rows) {
      CAPTURE(row.op);
      CHECK(row.formula.size() > 0);
      CHECK(row.formula.front() != ' ');
      CHECK(row.formula.find("\n  ") != std::string_view::npos);
      CHECK(row.formula.back() != '\n');
    }
  }
}

TEST_CASE("saved bytes of a model equal the memory growth of its forward") {
  TwoLayers model;
  const auto check = [&](const Tape::Options& options) {
    Tape tape(cpu_kernels(), options);
    const size_t before = memory_stats().active_bytes;
    model.loss(tape);
    const size_t growth = memory_stats().active_bytes - before;
    const std::vector<TapeRow> rows = tape_rows(tape);
    CHECK(cached_blocks(rows, none) == growth);
    size_t saved_bytes = 0;
    for (const TapeRow& row : rows) saved_bytes += row.saved_bytes;
    CHECK(saved_bytes == module_totals(rows).front().saved_bytes);
  };
  {
    Tape warm(cpu_kernels(), {});  // the kernels allocate their buffers once
    model.loss(warm);
  }
  for (const bool loss_seeded : {false, true})
    for (const bool training : {false, true}) check({.training = training, .seed = 3, .loss_seeded = loss_seeded});
}

TEST_CASE("rows describe the nodes of the tape") {
  TwoLayers model;
  Tape tape(cpu_kernels(), {.training = true, .seed = 3});
  model.loss(tape);
  const std::vector<TapeRow> rows = tape_rows(tape);
  REQUIRE(rows.size() == tape.nodes().size());

  const TapeRow& table = rows.front();
  CHECK(table.leaf);
  CHECK(table.parameter == "table");
  CHECK(table.saved_bytes == 0);
  CHECK(table.shape == Shape{11, 8});

  const TapeRow& embedded = row_of(rows, "encoder", "embedding");
  CHECK(embedded.attributes == std::vector<std::pair<std::string, std::string>>{{"factor", "2"}});
  CHECK(embedded.inputs.size() == 1);
  CHECK(embedded.inputs[0].node == table.id);
  CHECK(embedded.output_bytes == 5 * 8 * 4);
  CHECK(embedded.saved_bytes == 5 * 8 * 4 + 5 * 4);

  // Both layers share the angles and positions, which count with the first. Absent optional inputs are not listed.
  const TapeRow &first = row_of(rows, "encoder.layers.0.attention", "attention"),
                &second = row_of(rows, "encoder.layers.1.attention", "attention");
  CHECK(saved(first, "angles").holder == first.id);
  CHECK(saved(second, "angles").holder == first.id);
  CHECK(first.saved_bytes - second.saved_bytes == saved(first, "angles").bytes + saved(first, "positions").bytes);
  CHECK(first.inputs.size() == 1);
  CHECK(std::count(first.attributes.begin(), first.attributes.end(),
                   std::pair<std::string, std::string>{"heads", "2"}) == 1);
  double flops = 0;
  for (const TapeRow& row : rows) flops += row.flops;
  CHECK(flops == tape.flops());
}

TEST_CASE("constant inputs count with the first op that keeps them; frozen parameters do not count") {
  TwoLayers model;
  model.w.trainable = false;
  Tape tape(cpu_kernels(), {});
  const Var x = tape.leaf(Tensor::zeros({4, 8})), constant = tape.constant(Tensor::zeros({4, 8}));
  add(add(x, constant), constant);
  linear(x, tape.parameter(model.w), tape.parameter(model.bias));
  const std::vector<TapeRow> rows = tape_rows(tape);
  REQUIRE(rows.size() == 5);
  CHECK(rows[0].saved_bytes == 128);  // the leaf
  CHECK(rows[1].saved_bytes == 256);
  CHECK(rows[1].inputs[1].node == -1);
  CHECK(rows[1].inputs[1].shape == Shape{4, 8});
  CHECK(rows[2].saved_bytes == 128);
  CHECK(saved(rows[2], "constant").holder == 1);
  CHECK(rows[4].saved_bytes == 128);
  CHECK(rows[4].saved.empty());
}

TEST_CASE("modules: totals add up for every prefix, and a module includes the leaves that it uses") {
  TwoLayers model;
  Tape tape(cpu_kernels(), {.training = true, .seed = 3});
  model.loss(tape);
  const std::vector<TapeRow> rows = tape_rows(tape);
  const std::vector<ModuleTotals> totals = module_totals(rows);
  std::vector<std::string> paths;
  for (const ModuleTotals& t : totals) paths.push_back(t.path);
  CHECK(paths == std::vector<std::string>{"", "encoder", "encoder.layers", "encoder.layers.0",
                                          "encoder.layers.0.attention", "encoder.layers.1",
                                          "encoder.layers.1.attention"});
  CHECK(totals[0].parameters == 11 * 8 + 8 * 8 + 3 * 8);
  CHECK(totals[3].parameters == 8 * 8 + 3 * 8);
  CHECK(totals[2].parameters == totals[3].parameters);  // both layers use the same parameters
  CHECK(totals[2].ops == totals[3].ops + totals[5].ops);
  CHECK(totals[2].flops == totals[3].flops + totals[5].flops);
  CHECK(totals[2].saved_bytes == totals[3].saved_bytes + totals[5].saved_bytes);
  CHECK(totals[1].ops == totals[2].ops + 2);

  const std::vector<TapeRow> part = rows_of_module(rows, "encoder.layers.1");
  CHECK(std::count_if(part.begin(), part.end(), [](const TapeRow& row) { return !row.leaf; }) == totals[5].ops);
  CHECK(std::count_if(part.begin(), part.end(), [](const TapeRow& row) { return row.leaf; }) == 5);
  CHECK(rows_of_module(rows, "encoder.layers.2").empty());
}
