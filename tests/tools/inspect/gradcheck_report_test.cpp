// Tests the gradients of a whole model, and the report of a wrong gradient: report.passed() is gradcheck's exit status.
#include "tools/inspect/gradcheck_report.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "tools/workload/workload.h"

using namespace gyre;

namespace {

// The identity, with a backward that adds an error to the gradient of a parameter.
struct Spoil final : Op {
  double error;
  explicit Spoil(double e) : error(e) {}
  std::string_view name() const override { return "spoil"; }
  void backward(Backward& b) override {
    b.forward_gradient(0);
    for (double& g : b.dparameter(1).span<double>()) g += error;
  }
};

EncoderOnlyConfig small_encoder() {
  EncoderOnlyConfig config = EncoderOnlyConfig::preset("bert-mini");
  config.vocab_size = 30;
  config.dim = 8;
  config.ffn = 16;
  config.heads = 2;
  config.layers = 1;
  return config;
}

const size_t kSpoilt = 3;

// The report of a small model in which the gradient of one parameter has this error.
GradcheckReport report_of(double error) {
  const auto work = language_workload(small_encoder(), 2, 4, {.device = {}, .dtype = DType::f64});
  work->draw(0);
  const ParameterFunction loss{work->parameters(), [&](Tape& tape) {
                                 const Var right = work->loss(tape).loss;
                                 const Var spoilt = tape.parameter(work->parameters()[kSpoilt]);
                                 return tape.record(std::make_unique<Spoil>(error), right.value(), {right, spoilt});
                               }};
  const GradcheckOptions options{.max_entries = 4, .tape = {.training = true, .seed = 1, .loss_seeded = true}};
  GradcheckReport report{.of_ops = false, .rows = {}};
  for (GradcheckResult& result : gradcheck(cpu_kernels(), loss, loss, options))
    report.rows.push_back({result.input, {std::move(result)}});
  return report;
}

}  // namespace

TEST_CASE("gradcheck of a model passes right gradients of all parameters") {
  const GradcheckReport report = report_of(0);
  CHECK(report.passed());
  CHECK_GT(report.rows.size(), 10);
}

TEST_CASE("gradcheck of a model fails a wrong gradient of one parameter, and NaN") {
  for (const double error : {0.01, std::nan("")}) {
    const GradcheckReport report = report_of(error);
    CHECK_FALSE(report.passed());
    for (size_t i = 0; i < report.rows.size(); ++i) CHECK_EQ(report.rows[i].passed(), i != kSpoilt);
    const Json json = report.to_json(Json::object(), 1);
    CHECK_FALSE(json.at("passed").get<bool>());
    CHECK_EQ(json.at("worst").at(0).at("parameter"), report.rows[kSpoilt].name);
    CHECK_EQ(json.at("parameters").size(), report.rows.size());
  }
}
