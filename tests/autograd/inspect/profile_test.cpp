#include <doctest/doctest.h>

#include <numeric>

#include "gyre/autograd/inspect/timeline.h"

using namespace gyre;

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
