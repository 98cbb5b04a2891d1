// Classification and correlation metrics compared with scikit-learn and SciPy: golden/labels.json, made by
// golden/make_labels.py.
#include "gyre/train/metrics/labels.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/data/text/text_tasks.h"
#include "tests/source_dir.h"

using namespace gyre;
using nlohmann::json;

namespace {

json golden_labels() { return json::parse(std::ifstream(source_dir() / "tests/train/metrics/golden/labels.json")); }

// null is NaN; infinities are strings.
double number(const json& value) {
  if (value.is_null()) return NAN;
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

std::vector<double> numbers(const json& values) {
  std::vector<double> result;
  for (const json& value : values) result.push_back(number(value));
  return result;
}

bool is_same(double value, double expected) {
  return std::isnan(expected) ? std::isnan(value) : std::abs(value - expected) < 1e-12;
}

const std::vector<int32_t> kClass{1}, kTwoClasses{1, 0};
const std::vector<double> kValue{1}, kTwoValues{1, 0};

}  // namespace

TEST_CASE("accuracy, F1 and Matthews correlation equal those of scikit-learn") {
  const json golden = golden_labels();
  REQUIRE(golden["classes"].size() > 20);
  for (const json& expected : golden["classes"]) {
    const auto predicted = expected["predicted"].get<std::vector<int32_t>>();
    const auto actual = expected["actual"].get<std::vector<int32_t>>();
    CAPTURE(expected.dump());
    REQUIRE(expected["scores"].size() == 4);
    for (const auto& [metric, score] : expected["scores"].items()) {
      CAPTURE(metric);
      CHECK(is_same(classification_score(metric, predicted, actual), number(score)));
    }
  }
}

TEST_CASE("Pearson and Spearman correlations equal those of SciPy") {
  const json golden = golden_labels();
  REQUIRE(golden["values"].size() > 20);
  for (const json& expected : golden["values"]) {
    const auto predicted = numbers(expected["predicted"]), actual = numbers(expected["actual"]);
    CAPTURE(expected.dump());
    REQUIRE(expected["scores"].size() == 2);
    for (const auto& [metric, score] : expected["scores"].items()) {
      CAPTURE(metric);
      CHECK(is_same(correlation_score(metric, predicted, actual), number(score)));
    }
  }
}

TEST_CASE("a single pair of numbers has no correlation") {
  CHECK(std::isnan(pearson(kValue, kValue)));
  CHECK(std::isnan(spearman(kValue, kValue)));
}

TEST_CASE("every task preset names existing metrics") {
  for (const TextTask& task : text_tasks()) {
    for (const std::string& metric : task.metrics) {
      CAPTURE(metric);
      if (task.is_regression()) {
        CHECK(correlation_score(metric, kTwoValues, kTwoValues) == doctest::Approx(1));
      } else {
        CHECK(classification_score(metric, kTwoClasses, kTwoClasses) == 1);
      }
    }
  }
}

TEST_CASE("metrics of labels: invalid inputs are errors") {
  CHECK_THROWS_WITH_AS(accuracy(kTwoClasses, kClass),
                       "[accuracy] expected as many labels as predictions, got 2 predictions and 1 labels", Error);
  CHECK_THROWS_WITH_AS(spearman({}, {}), "[spearman] expected at least one prediction, got none", Error);
  for (const char* metric : {"accuracy", "f1", "macro-f1", "matthews"}) {
    CHECK_THROWS_AS(classification_score(metric, kClass, kTwoClasses), Error);
    CHECK_THROWS_AS(classification_score(metric, {}, {}), Error);
  }
  for (const char* metric : {"pearson", "spearman"}) {
    CHECK_THROWS_AS(correlation_score(metric, kValue, kTwoValues), Error);
    CHECK_THROWS_AS(correlation_score(metric, {}, {}), Error);
  }
  CHECK_THROWS_WITH_AS(classification_score("F1", kClass, kClass),
                       "[metrics] classification: expected accuracy, f1, macro-f1 or matthews, got F1", UsageError);
  CHECK_THROWS_WITH_AS(correlation_score("accuracy", kValue, kValue),
                       "[metrics] correlation: expected pearson or spearman, got accuracy", UsageError);
}
