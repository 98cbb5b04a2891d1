#include "gyre/autograd/inspect/timeline.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "gyre/autograd/inspect/tensor_stats.h"
#include "gyre/autograd/ops.h"
#include "gyre/core/memory.h"

using namespace gyre;

namespace {

// The clock advances by a second per reading, and the memory grows by 8 bytes per reading.
Timeline ticking() {
  return Timeline({[now = 0.0]() mutable { return now++; }, [bytes = size_t{0}]() mutable { return bytes += 8; }});
}

}  // namespace

TEST_CASE("timeline: spans have no gaps between them") {
  Timeline timeline = ticking();
  timeline.restart();
  timeline.mark("before");
  Tape tape(cpu_kernels(), {});
  tape.add_observer(timeline);
  const Var x = tape.leaf(Tensor::zeros({3, 4})), w = tape.leaf(Tensor::zeros({4, 4}));
  {
    const Tape::Scope scope(tape, "layer");
    const Var hidden = gelu(linear(x, w));
    scale(tape.constant(Tensor::zeros({1})), 2);  // not recorded: its time belongs to the next span
    tape.backward(linear(hidden, w), Tensor::zeros({3, 4}));
  }
  timeline.mark("after");

  const std::vector<Span>& spans = timeline.spans();
  REQUIRE(spans.size() == 11);  // two marks; forward of three ops; backward of three ops, each after a kOther span
  for (size_t i = 1; i < spans.size(); ++i) {
    CHECK(spans[i].begin == spans[i - 1].end);
    CHECK(spans[i].before == spans[i - 1].after);
  }
  CHECK(spans.back().end - spans.front().begin == 11);
  CHECK(spans[0].name == "before");
  CHECK(spans[0].node == -1);
  CHECK(spans[1].name == "linear");
  CHECK(spans[1].module == "layer");
  CHECK(spans[1].kind == Span::Kind::forward);
  CHECK(spans[1].flops == 2 * 3 * 4 * 4);
  CHECK(spans[4].name == Timeline::kOther);
  CHECK(spans[5].kind == Span::Kind::backward);
  CHECK(spans[5].node == spans[3].node);  // backward begins with the last op
}

TEST_CASE("timeline: times are asked for in the order of the events and read at the end") {
  int asked = 0, read = 0;
  Timeline::Probe probe{[] { return 0.0; }, [] { return size_t{0}; },
                        [&] {
                          return [&read, number = asked++] {
                            ++read;
                            return double(number);
                          };
                        }};
  Timeline timeline(probe);
  timeline.restart();
  timeline.mark("one");
  timeline.mark("two");
  CHECK(asked == 4);
  CHECK(read == 0);
  CHECK(timeline.spans()[1].begin == 2);
  CHECK(timeline.spans()[1].end == 3);
  timeline.mark("three");
  CHECK(timeline.spans().back().begin == 3);
  CHECK(timeline.spans().back().end == 4);
}

TEST_CASE("timeline: backward frees the memory that forward keeps") {
  Timeline timeline({[] { return 0.0; }, [] { return memory_stats().active_bytes; }});
  const size_t before = memory_stats().active_bytes;
  {
    Tape tape(cpu_kernels(), {});
    tape.add_observer(timeline);
    Var x = tape.leaf(Tensor::zeros({64, 64}));
    for (int i = 0; i < 4; ++i) x = gelu(x);
    tape.backward(x, Tensor::zeros({64, 64}));
  }
  const std::vector<Span>& spans = timeline.spans();
  CHECK(spans[3].after - spans[0].before >= 4 * 64 * 64 * sizeof(float));
  CHECK(memory_stats().active_bytes == before);
}

namespace {

Span op(std::string_view name, const std::string& module, Span::Kind kind, double begin, double end) {
  return {
      .name = name, .module = module, .kind = kind, .begin = begin, .end = end, .flops = 5, .before = 10, .after = 14};
}

// Forward and backward of two layers, and a span outside ops.
std::vector<Span> step() {
  using enum Span::Kind;
  return {{.name = "batch", .module = {}, .end = 1},
          op("linear", "encoder.layers.0.ffn", forward, 1, 3),
          op("gelu", "encoder.layers.0.ffn", forward, 3, 4),
          op("linear", "encoder.layers.1.ffn", forward, 4, 8),
          op("linear", "encoder.layers.1.ffn", backward, 8, 16),
          op("gelu", "encoder.layers.0.ffn", backward, 16, 17),
          op("linear", "encoder.layers.0.ffn", backward, 17, 20)};
}

const ProfileRow& row(const std::vector<ProfileRow>& rows, std::string_view name) {
  for (const ProfileRow& r : rows)
    if (r.name == name) return r;
  FAIL("no row ", name);
  return rows.front();
}

double total(const std::vector<ProfileRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0, [](double sum, const auto& r) { return sum + r.seconds(); });
}

}  // namespace

TEST_CASE("profile: by op") {
  const std::vector<ProfileRow> rows = rows_by_op(step());
  REQUIRE(rows.size() == 3);
  CHECK(rows.front().name == "linear");
  CHECK(row(rows, "linear").calls == 2);
  CHECK(row(rows, "linear").forward_seconds == 6);
  CHECK(row(rows, "linear").backward_seconds == 11);
  CHECK(row(rows, "linear").flops == 10);
  CHECK(row(rows, "linear").kept_bytes == 8);
  CHECK(row(rows, "batch").calls == 1);
  CHECK(row(rows, "batch").outside_seconds == 1);
  CHECK(row(rows, "batch").kept_bytes == 0);
  CHECK(total(rows) == 20);
}

TEST_CASE("profile: by module, to a given depth") {
  const std::vector<Span> spans = step();
  const std::vector<ProfileRow> layers = rows_by_module(spans, 3);
  REQUIRE(layers.size() == 3);
  CHECK(layers.front().name == "encoder.layers.1");
  CHECK(row(layers, "encoder.layers.0").calls == 2);
  CHECK(row(layers, "encoder.layers.0").seconds() == 7);
  CHECK(row(layers, "batch").seconds() == 1);
  CHECK(row(rows_by_module(spans, 1), "encoder").seconds() == 19);
  CHECK(row(rows_by_module(spans, 9), "encoder.layers.0.ffn").seconds() == 7);
  CHECK(total(rows_by_module(spans, 1)) == 20);
}

TEST_CASE("profile: by node") {
  std::vector<Span> spans = step();
  spans[1].node = spans[6].node = 2;
  CHECK(node_seconds(spans, 4) == std::vector<double>{0, 0, 5, 0});
}

namespace gyre {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_CASE("describe_stats gives range, NaNs and infinities of a tensor") {
  CHECK(describe_stats(Tensor::from({2, 2}, std::vector<float>{-3, 0, 1, 800})) == "(2, 2), all in [-3, 800]");
  CHECK(describe_stats(Tensor::from({4}, std::vector<float>{NAN, kInfinity, 1, -2})) ==
        "(4) with 1 NaN and 1 infinite, the others in [-2, 1]");
  CHECK(describe_stats(Tensor::from({1}, std::vector<float>{NAN})) == "(1) with 1 NaN and 0 infinite, the others none");
  CHECK(compute_stats(Tensor::from({3}, std::vector<float>{3, NAN, -4})).norm == 5);
}

struct Pass {
  Parameters parameters;
  NanFinder finder;

  // A linear layer with all weights w, and GELU.
  void run(float w, float cotangent) {
    parameters.add("layer.weight", {2, 2}, Init::constant(w));
    parameters.allocate(1);
    Tape tape(cpu_kernels(), {.record = true, .training = true, .seed = 1});
    tape.add_observer(finder);
    const Tape::Scope scope(tape, "encoder.layer.0");
    const Var x = tape.constant(Tensor::from({1, 2}, std::vector<float>{1e30F, 1e30F}));
    const Var y = gelu(linear(x, tape.parameter(parameters[0])));
    tape.backward(y, Tensor::from({1, 2}, std::vector<float>{cotangent, 1}));
  }
};

TEST_CASE("a finite pass has an empty report") {
  Pass pass;
  pass.run(1e-30F, 1e-3F);
  CHECK(pass.finder.report().empty());
}

TEST_CASE("the report names the first op with a non-finite value, and its inputs") {
  Pass pass;
  pass.run(1e30F, 1);
  CHECK(pass.finder.report() ==
        "forward: linear in encoder.layer.0 gives (1, 2) with 0 NaN and 2 infinite, the others none; input 0: (1, 2), "
        "all in [1e+30, 1e+30]; input 1: (2, 2), all in [1e+30, 1e+30]");
}

TEST_CASE("the report names the first op that computes a non-finite gradient, and the parameter") {
  Pass pass;
  pass.run(1e-30F, 3e38F);
  CHECK(pass.finder.report().starts_with(
      "backward: linear in encoder.layer.0 gives its input 1 (layer.weight) the gradient (2, 2) with"));
}

}  // namespace
}  // namespace gyre
