// Scores of answers compared with LongBench's: golden/answers.json, made by golden/make_answers.py.
#include "gyre/train/metrics/answers.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/errors.h"
#include "tests/train/metrics/golden.h"

using namespace gyre;

TEST_CASE("scores of answers equal LongBench's on 1,000 lines") {
  const nlohmann::json golden = read_golden("answers.json");
  const auto classes = golden["classes"].get<std::vector<std::string>>();
  REQUIRE(golden["scores"].size() == 1000);
  for (const auto& line : golden["scores"]) {
    CAPTURE(line.dump());
    const auto metric = parse_enum<AnswerMetric>("metric", line[0].get<std::string>());
    const double score = answer_score(metric, line[1].get<std::string>(), line[2].get<std::string>(), classes);
    CHECK(std::abs(score - line[3].get<double>()) < 1e-12);
  }
}

TEST_CASE("an answer of a retrieval task names a paragraph") {
  CHECK(error_of([] { answer_score(AnswerMetric::retrieval, "3", "paragraph 3"); }) ==
        "expected an answer such as \"Paragraph 3\", got \"paragraph 3\"");
}
