// Tests the pages of the documentation.
#include "tools/lessons/doc_page.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "tools/lessons/lesson.h"

namespace gyre {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("headings get the identifiers of GitHub") {
  CHECK(heading_id("7. RoPE, by hand") == "7-rope-by-hand");
  CHECK(heading_id("Is it right? `a_b`") == "is-it-right-a_b");
}

TEST_CASE("a page has a title, a list of its headings, and links to other pages") {
  const std::string page = doc_page(
      "<h1>A &lt; <code>b</code></h1>\n<h2>One <em>two</em></h2>\n<p><a href=\"data.md#x\">d</a>, "
      "<a href=\"README.md\">i</a>, <a href=\"../../.github/CONTRIBUTING.md\">c</a></p>\n");
  CHECK(contains(page, "<title>A &lt; b</title>"));
  CHECK(contains(page, "<h2 id=\"one-two\">One <em>two</em></h2>"));
  CHECK(contains(page, "<a href=\"#one-two\">One two</a>"));
  CHECK(contains(page, "\"data.html#x\""));
  CHECK(contains(page, "\"index.html\""));
  CHECK(contains(page, "\"../../.github/CONTRIBUTING.md\""));
  CHECK_FALSE(contains(page, "<script"));
  CHECK(contains(doc_page("<h1>a</h1>\n<pre><code>b\n</code></pre>\n"), "<pre tabindex=\"0\"><code>b\n"));
  CHECK_THROWS_AS(doc_page("<p>text</p>\n"), Error);
}

TEST_CASE("the scalar lesson has the gradients of x y + sin(x)") {
  const auto nodes = lesson_data("scalars")["nodes"];
  CHECK(nodes[0]["gradient"].get<double>() == doctest::Approx(3 + std::cos(2.0)));
  CHECK(nodes[1]["gradient"].get<double>() == doctest::Approx(2));
}

TEST_CASE("gradients of lessons agree with finite differences") {
  for (const char* name : {"tape", "linear", "composed", "layer_norm", "dropout", "cross_entropy", "attention", "rope",
                           "rotary_attention", "linear_attention", "own_op"}) {
    int compared = 0;
    const Json lesson = lesson_data(name);
    for (const auto& node : lesson["nodes"]) {
      if (!node.contains("differences")) continue;
      CAPTURE(name);
      CAPTURE(node["name"].get<std::string>());
      std::vector<double> values;
      for (const auto& difference : node["differences"]) values.push_back(difference["value"].get<double>());
      const auto [min, max] = std::ranges::minmax(values);
      CHECK(node["gradient"]["min"].get<double>() == doctest::Approx(min).epsilon(1e-6));
      CHECK(node["gradient"]["max"].get<double>() == doctest::Approx(max).epsilon(1e-6));
      ++compared;
    }
    CHECK(compared > 0);
  }
}

TEST_CASE("the lesson of gradient checks has one that fails") {
  const auto checks = lesson_data("gradcheck")["checks"];
  CHECK(checks[0]["inputs"][0]["passed"].get<bool>());
  CHECK_FALSE(checks[1]["inputs"][0]["passed"].get<bool>());
}

}  // namespace
}  // namespace gyre
