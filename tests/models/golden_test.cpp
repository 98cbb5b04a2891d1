// The whole model against PyTorch (golden/make_golden.py): logits, losses and gradients in f64.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "tests/models/tiny_model.h"

namespace gyre {

static void check_close(const Tensor& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == int64_t(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(got.data<double>()[i] - expected[i]) < 1e-7 * std::max(1.0, std::abs(expected[i])));
  }
}

TEST_CASE("encoder-decoder against PyTorch") {
  const auto golden =
      nlohmann::ordered_json::parse(read_file(Path(GYRE_SOURCE_DIR) / "tests/models/golden/encoder_decoder.json"));
  REQUIRE(golden["bos"] == tests::kBos);
  REQUIRE(golden["eos"] == tests::kEos);
  auto sources = golden["sources"].get<tests::Sentences>();
  for (auto& s : sources) s.pop_back();  // make_batch adds the EOS
  const PairInput batch = tests::make_batch(sources, golden["targets"].get<tests::Sentences>());

  for (const auto& variant : golden["variants"]) {
    EncoderDecoderConfig config = EncoderDecoderConfig::from_json(golden["config"]);
    config.norm = parse_enum<NormPlacement>("norm", variant["norm"].get<std::string>());
    config.position.encoding = variant["position"];
    CAPTURE(config.position.encoding);
    CAPTURE(enum_name(config.norm));
    EncoderDecoder model(config);
    model.parameters().allocate(1, DType::f64);
    for (Parameter& p : model.parameters())
      p.value.copy_from(Tensor::from(p.shape, golden["weights"].at(p.name).get<std::vector<double>>()));
    model.parameters().gradients().zero();

    Tape tape(cpu_kernels(), {});
    const Var encoded = model.encode(tape, batch.source_ids, batch.source);
    const Var states = model.decode(tape, encoded, batch.source, batch.target_inputs, batch.target);
    check_close(model.logits(states).value(), variant["logits"].get<std::vector<double>>());

    const LossResult result = model.loss(tape, batch, golden["smoothing"]);
    CHECK(result.sums.loss == doctest::Approx(variant["loss"].get<double>()).epsilon(1e-8));
    CHECK(result.sums.nll == doctest::Approx(variant["nll"].get<double>()).epsilon(1e-8));
    tape.backward(result.loss);
    for (const auto& [name, gradient] : variant["gradients"].items()) {
      CAPTURE(name);
      check_close(model.parameters().find(name)->gradient, gradient.get<std::vector<double>>());
    }
  }
}

}  // namespace gyre
