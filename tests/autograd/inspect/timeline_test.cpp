#include "gyre/autograd/inspect/timeline.h"

#include <doctest/doctest.h>

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
