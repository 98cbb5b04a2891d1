#include "gyre/train/analysis/receptive_field.h"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <numeric>

#include "gyre/models/position/position_table.h"
#include "tests/train/tiny_run.h"

namespace gyre::test {
namespace {

EncoderOnlyConfig tiny_causal(const std::string& position) {
  EncoderOnlyConfig c;
  set_tiny_layers(c, 0);
  c.layers = 2;
  c.causal = true;
  c.vocab_size = 50;
  c.position.encoding = position;
  c.position.get<PositionTableOptions>().max_positions = 40;
  return c;
}

std::unique_ptr<EncoderOnly> make_model(const EncoderOnlyConfig& config) {
  auto model = std::make_unique<EncoderOnly>(config);
  model->parameters().allocate(3);
  return model;
}

// 0, 7, 14, .. modulo 50, without special tokens: neighbors differ.
std::vector<int32_t> some_ids(int count) {
  std::vector<int32_t> ids;
  for (int i = 0; i < count; ++i) ids.push_back(i * 7 % 50);
  return ids;
}

std::vector<double> shares_of(const EncoderOnlyConfig& config, int length) {
  return gradient_shares(*make_model(config), cpu_kernels(), some_ids(length));
}

}  // namespace

// Learned positions are added to the embeddings: the gradient of a row of the position table equals that of its token's
// embedding, but is computed differently.
TEST_CASE("receptive field: the shares equal those of the gradients of learned positions") {
  for (const bool norm : {false, true}) {
    EncoderOnlyConfig config = tiny_causal("learned");
    config.embedding_norm = norm;
    const auto model = make_model(config);
    const std::vector<double> shares = gradient_shares(*model, cpu_kernels(), some_ids(20));
    REQUIRE(shares.size() == 20);
    const Parameter* table = model->parameters().find("encoder.embed_positions.weight");
    REQUIRE(table != nullptr);
    std::vector<double> norms;
    for (int64_t row = 19; row >= 0; --row) {
      const std::vector<float> g = table->gradient.slice(row, row + 1).to_vector<float>();
      norms.push_back(std::sqrt(std::inner_product(g.begin(), g.end(), g.begin(), 0.0)));
    }
    const double sum = std::accumulate(norms.begin(), norms.end(), 0.0);
    for (size_t t = 0; t < 20; ++t) CHECK(shares[t] == doctest::Approx(norms[t] / sum).epsilon(1e-5));
  }
}

TEST_CASE("receptive field: windows of W tokens in two layers reach exactly 2 (W - 1) tokens back") {
  EncoderOnlyConfig config = tiny_causal("none");
  config.attention.kind = AttentionKind::window;
  config.attention.window = 4;
  const std::vector<double> shares = shares_of(config, 30);
  for (size_t t = 0; t < 30; ++t) {
    CAPTURE(t);
    if (t <= 6) {
      CHECK(shares[t] > 0);
    } else {
      CHECK(shares[t] == 0);
    }
  }
  const std::vector<double> cumulative = cumulative_shares(shares);
  CHECK(cumulative[6] == doctest::Approx(1));
  CHECK(distance_reaching(1 - 1e-12, cumulative) <= 6);
}

TEST_CASE("receptive field: ALiBi has a smaller receptive field than no encoding") {
  const auto distance = [](const std::string& position) {
    return distance_reaching(0.9, cumulative_shares(shares_of(tiny_causal(position), 40)));
  };
  CHECK(distance("alibi") < distance("none"));
}

TEST_CASE("receptive field: distance_reaching returns the smallest distance") {
  const std::vector<double> cumulative = cumulative_shares({0.5, 0.25, 0.125, 0.125});
  CHECK(cumulative == std::vector<double>{0.5, 0.75, 0.875, 1});
  CHECK(distance_reaching(0.5, cumulative) == 0);
  CHECK(distance_reaching(0.51, cumulative) == 1);
  CHECK(distance_reaching(0.99, cumulative) == 3);
  CHECK_THROWS_WITH_AS(distance_reaching(1.5, cumulative), "[receptive field] expected shares that reach 1.5, got 1",
                       Error);
}

TEST_CASE("receptive field: models and texts that cannot be measured are errors") {
  EncoderOnlyConfig both_sides = tiny_causal("none");
  both_sides.causal = false;
  CHECK_THROWS_WITH_AS(shares_of(both_sides, 5),
                       "[receptive field] expected a causal language model, got a bidirectional one", Error);
  CHECK_THROWS_WITH_AS(shares_of(tiny_causal("learned"), 41),
                       "[receptive field] learned has positions for 1 to 40 tokens, got 41", Error);
}

}  // namespace gyre::test
